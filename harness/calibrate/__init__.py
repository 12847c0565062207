"""How wrong this harness is, on this machine: known sounds after known delays, and the error of what is measured."""
