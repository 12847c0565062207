"""What is tested: profiles, connections (one file a wire format), the agents' processes, and the cascade that ships.

May import `audio` only. An agent runs in a process of its own; nothing here runs inside the caller except connections.
"""
