"""Pages for invited people: one address, one entrance and one server for listening tests and for both seats."""


class Refused(Exception):
    """A request that is not accepted; the message is for the person who sent it."""
