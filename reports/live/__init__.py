"""A run's page on this machine while the run still plays: how far it is, its first figures, and then its report.

`progress` reads a run that another process writes, and `server` shows it in a browser. Nothing here starts, plays or writes
anything: a run goes on in the same way whether somebody watches it or not.
"""
