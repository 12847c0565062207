"""Twenty kinds of secrets as agents, servers and judges print them, each made anew from a seed, and the search for what is
left of one: the whole, or any eight characters in a row of its random part."""

import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PIECE: Final = 8
LETTERS: Final = string.ascii_letters + string.digits
BASE64: Final = LETTERS + "+/"
CAPITALS: Final = string.ascii_uppercase + string.digits
HEX: Final = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret of one kind: the text that shows it, and its parts that nobody may find."""

    kind: str
    text: str
    parts: tuple[str, ...]

    def pieces(self) -> Iterator[str]:
        """Every eight characters in a row of its random parts."""
        for part in self.parts:
            yield from (part[k : k + PIECE] for k in range(max(1, len(part) - PIECE + 1)))

    def left_in(self, text: str) -> str:
        """A piece of it that the text has; empty without any."""
        return next((piece for piece in self.pieces() if piece in text), "")


def planted(seed: int, environment_value: str = "") -> tuple[Planted, ...]:
    """One of each kind. `environment_value`: a value that only a variable of the profile's shows to be a secret."""
    chance = random.Random(seed)

    def some(count: int, letters: str = LETTERS) -> str:
        """Random characters with a digit, a capital and a small letter among the first eight, as most keys have."""
        while True:
            text = "".join(chance.choices(letters, k=count))
            if letters != LETTERS or all(
                any(c in kind for c in text[:8]) for kind in (string.digits, CAPITALS[:26], HEX[10:] + "xyz")
            ):
                return text

    made: list[Planted] = []

    def plant(kind: str, form: str, *parts: str) -> None:
        made.append(Planted(kind, form.format(*parts), parts))

    plant("github", "ghp_{}", some(36))
    plant("github fine-grained", "github_pat_{}_{}", some(22), some(59))
    plant("openai", "sk-proj-{}", some(48))
    plant("anthropic", "sk-ant-api03-{}", some(93))
    plant("amazon", "AKIA{} aws_secret_access_key={}", some(16, CAPITALS), some(40, BASE64))
    plant("google", "AIza{}", some(35))
    plant("slack", "xoxb-{}-{}", some(12, string.digits), some(24))
    plant("hugging face", "hf_{}", some(34))
    plant("gitlab", "glpat-{}", some(20))
    plant("web token", "eyJ{}.eyJ{}.{}", some(33), some(60), some(43))
    plant("header", "Authorization: Bearer {}", some(32))
    plant("basic", "https://caller:{}@api.example.com/v1", some(18))
    plant("password", "password={}", some(14))
    plant("api key", "api_key={}", some(32, HEX))
    plant("PW", "PW={}", some(12))
    plant("json", '{{"token":"{}"}}', some(28))
    lines = [some(64, BASE64) for _ in range(4)]
    plant("pem", "-----BEGIN PRIVATE KEY-----\n{}\n{}\n{}\n{}\n-----END PRIVATE KEY-----", *lines)
    plant("stripe", "sk_live_{}", some(24))
    plant("sendgrid", "SG.{}.{}", some(22), some(43))
    plant("twilio", "SK{}", some(32, HEX))
    plant("postgres", "postgres://app:{}@db.example.com:5432/calls", some(16))
    plant("azure", "DefaultEndpointsProtocol=https;AccountName=calls;AccountKey={}==", some(86, BASE64))
    plant("webhook", "https://hooks.example.com/services/T01/{}", some(24))
    if environment_value:
        made.append(Planted("variable", environment_value, (environment_value,)))
    return tuple(made)


def left(texts: dict[str, str], secrets: Sequence[Planted]) -> list[str]:
    """Where which secret is left, in words that show a piece of it."""
    return [
        f"{secret.kind}: {piece!r} in {where}: …{text[max(0, text.index(piece) - 60) : text.index(piece) + 60]!r}…"
        for where, text in texts.items()
        for secret in secrets
        if (piece := secret.left_in(text))
    ]
