"""Scripted servers of vendors' wires, each made of the vendor's own public types, and the error of calls to them."""
