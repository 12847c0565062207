"""The shipped cascade: speech recogniser → language model → synthesis on pipecat, served over pipecat's WebSocket wire.

Every part is a module that a bot's author can use alone; `python -m harness.agents.cascade` puts them together from a profile.
"""
