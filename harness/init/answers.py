"""What `harness init` has to know, checked: the rest of the files follows from it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.agents.new_profile import commented_profile, kinds_to_write
from harness.agents.profile import AgentProfile, ProfileError, load_profile, parse_profile, shipped_profiles
from harness.errors import UserError

Ci = Literal["github", "gitlab", "both", "none"]
CIS: Final[tuple[Ci, ...]] = ("github", "gitlab", "both", "none")
INSTALL: Final = "heart-voice-harness[local]"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_UNSAFE: Final = re.compile(r"[\n\r\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user has. `kind` is a kind of agent, or the name of a profile that ships (then no profile is written)."""

    kind: str
    name: str = "my-agent"
    url: str | None = None
    command: tuple[str, ...] = ()
    budget_ms: float = 500.0
    """Of TTFA at the median; of TTFT for an agent that is asked in text."""
    pack: str = "heart-open"
    ci: Ci = "both"
    install: str = INSTALL
    """What pip installs in CI: a requirement, a path or an address."""

    def __post_init__(self) -> None:
        """Raises UserError: an answer that no file could be made of."""
        if self.kind not in (*kinds_to_write(), *shipped_profiles()):
            known = f"{', '.join(kinds_to_write())}; or an agent that ships: {', '.join(shipped_profiles())}"
            raise UserError(f"--kind {self.kind}: unknown; choose one of {known}")
        if not _NAME.fullmatch(self.name):
            raise UserError(f"--name {self.name}: letters, digits, dots, dashes and underscores, at most 60")
        if self.ships and (self.url or self.command):
            raise UserError(f"--kind {self.kind}: ships with the harness; leave out --url and --command")
        if self.url and self.command:
            raise UserError("--url and --command: an agent that runs already is not started; give one of them")
        if self.budget_ms <= 0:
            raise UserError(f"--budget-ttfa {self.budget_ms:g}: must be more than 0 ms")
        for option, value in (("--pack", self.pack), ("--install", self.install)):
            if not value or _UNSAFE.search(value):
                raise UserError(f"{option}: must be one line of plain text")

    @property
    def ships(self) -> bool:
        """Whether the agent is one of the harness's own."""
        return self.kind in shipped_profiles()

    @property
    def agent(self) -> str:
        """What `--agent` is given."""
        return self.kind if self.ships else f"{self.name}.toml"

    @property
    def profile_text(self) -> str | None:
        """The profile to write; None for an agent that ships."""
        return None if self.ships else commented_profile(self.kind, self.url, self.command)

    @property
    def profile(self) -> AgentProfile:
        """The profile as the harness will read it.

        Raises:
            UserError: the answers make none, such as an address that the kind does not take.
        """
        try:
            if self.profile_text is None:
                return load_profile(self.kind)
            return parse_profile(self.profile_text, Path(self.agent))
        except ProfileError as error:
            raise UserError(str(error)) from error
