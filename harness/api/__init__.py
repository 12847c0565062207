"""The Python library: the steps of the command line as functions, under the names that `harness` exports.

Nothing is computed here. Each function opens its inputs, calls what the matching command calls, and returns the objects.
"""
