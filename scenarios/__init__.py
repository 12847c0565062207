"""What is said to an agent: the Context type, the packs that ship, builders and checks.

Imports nothing of this project. A pack is a YAML file of contexts; see `scenarios/packs/`.
"""
