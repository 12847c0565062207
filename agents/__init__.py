"""The agents under test: profiles, connections (one file per wire format), processes, and the shipped cascade.

May import `audio` only. An agent runs in its own process; nothing here runs inside the caller except connections.
"""
