"""A run on the machines of a Ray cluster.

Every shard is played by `harness run --shard`, as on any machine, inside a task that Ray places (`task`). A finished session is
sent to the head machine (`shipping`) and added to one run folder on arrival (`gathering`); the assignment of shards, and
what is played again when a machine is lost, are decided there (`giving_out`). Ray itself is used in one file only (`cluster`).
"""
