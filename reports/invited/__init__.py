"""Pages for invited people: one address, one entrance and one server for listening tests and for both seats."""


class Refused(Exception):
    """A request that is not accepted. `key`: of the words for the person who sent it, filled with `values`."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.values = values
