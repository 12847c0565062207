"""What Python programs call: the steps of the command line as functions, under the names that `harness` exports.

Nothing is computed here. Each function opens, calls what the command of the same purpose calls, and hands back its objects.
"""
