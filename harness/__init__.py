"""The run: caller, recording, timing, store, judging, ranking and the command line.

Data flows one way: contexts → call → recording → timing → store → judging → ranking → report.
"""
