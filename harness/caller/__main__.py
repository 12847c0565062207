"""`python -m harness.caller`: the caller's process (see `harness.caller.server`)."""

from harness.caller.server import main

if __name__ == "__main__":
    main()
