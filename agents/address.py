"""An agent at an address: a bot that runs already, called without a profile's file.

`raw-pcm=ws://localhost:8765/` is a whole profile in a word: its text is the one that `harness agents new` writes for that kind
and address. So a run, its plan and its resumption can name it wherever they name a file, and a run of the address has the hash
of a run of the saved file. What the address of a scheme can be is read from the files of the wires: a new wire is known here.
"""

import re
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

from harness.agents.new_profile import AT_AN_ADDRESS, commented_profile, with_model, without_model, words_about

_WRITTEN: Final = re.compile(r"([a-z][a-z0-9-]*)(?::(\S+?))?=((?:wss?|https?)://\S+|sip:\S+)")
_SCHEME: Final = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*)://|(sips?):)")
_HOST_AND_PORT: Final = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}(?:[/?]\S*)?")
SCHEMES: Final = ("ws", "wss", "http", "https", "sip")


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """A kind of agent and the address where one runs. `model`: its name at an endpoint that has several."""

    kind: str
    url: str
    model: str | None = None

    @classmethod
    def parse(cls, word: str) -> Self | None:
        """The address that a word names in full, as in `raw-pcm=ws://localhost:8765/` and `text:gemma3=http://localhost:8000/v1`;
        None for any other word."""
        found = _WRITTEN.fullmatch(word)
        return cls(found[1], found[3], found[2]) if found is not None and found[1] in AT_AN_ADDRESS else None

    @classmethod
    def of(cls, kind: str, url: str) -> Self:
        """The agent at an address whose query may name its model. In the word the model is not in the query, because no run
        stores one: it may hold keys."""
        return cls(kind, *without_model(kind, url))

    def __str__(self) -> str:
        return f"{self.kind}{f':{self.model}' if self.model is not None else ''}={self.url}"

    @property
    def whole_url(self) -> str:
        """The address with its model, as `of` reads it."""
        return with_model(self.url, self.model) if self.model is not None else self.url

    @property
    def name(self) -> str:
        """The agent's name in a run: host and port, as in `localhost-8765`; of a model its name."""
        place = re.split(r"[/?#;]", re.sub(r"^[a-z]+:(?://)?(?:[^@/]*@)?", "", self.url))[0]
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.model or place).strip("-._")[:60] or self.kind

    @property
    def profile_text(self) -> str:
        """The commented profile of this agent."""
        return commented_profile(self.kind, self.whole_url)


def scheme_of(word: str) -> str | None:
    """The scheme of an address in small letters; None for a word that is none, such as the name of a file."""
    found = _SCHEME.match(word)
    return (found[1] or found[2]).lower() if found is not None else None


def lacks_a_scheme(word: str) -> bool:
    """True for `localhost:8765` and `bot.example.org:443/ws`, which are addresses but for what comes before them."""
    return _HOST_AND_PORT.fullmatch(word) is not None


def kinds_at(scheme: str) -> tuple[str, ...]:
    """The kinds that an address of this scheme can be."""
    plain = unencrypted(scheme)
    return tuple(kind for kind in AT_AN_ADDRESS if unencrypted(scheme_of(words_about(kind).url) or "") == plain)


def unencrypted(scheme: str) -> str:
    """`ws` for `wss` and `http` for `https`: agents of the same kinds answer at both."""
    return {"wss": "ws", "https": "http"}.get(scheme, scheme)


def kind_of_route(url: str) -> str | None:
    """The one kind whose agents answer at this path; None where several do, or none."""
    path = urlsplit(url).path.rstrip("/")
    there = [kind for kind in kinds_at(scheme_of(url) or "") if urlsplit(words_about(kind).url).path.rstrip("/") == path]
    return there[0] if path and len(there) == 1 else None
