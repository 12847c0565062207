"""One run on the machines of a Ray cluster.

Every shard is played by `harness run --shard`, as on any machine, inside a task that Ray places (`task`). What it finishes is
sent to the machine that asked (`shipping`) and laid into one run folder as it comes (`gathering`); who is at work on what, and
what is played again when a machine is lost, is decided there (`giving_out`). Ray itself is touched in one file (`cluster`).
"""
