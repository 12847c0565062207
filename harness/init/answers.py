"""The checked answers of a user to `harness init`, from which all files follow."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from harness.agents.new_profile import commented_profile
from harness.agents.profile import AgentProfile, load_profile, parse_profile, profile_kinds, shipped_profiles
from harness.errors import UserError
from harness.experiment import Mode
from harness.nearest import did_you_mean

Ci = Literal["github", "gitlab", "both", "none"]
CIS: Final[tuple[Ci, ...]] = ("github", "gitlab", "both", "none")
DEMO: Final = "demo"
"""The kind that brings bots of its own: one of Python alone, which the gate checks, and one of pipecat."""
DEMO_BUDGET_MS: Final = 1_500.0
AT_ONCE: Final = 12
"""Calls at once to the demo's bot, which does nothing but wait: 72 conversations take three minutes instead of half an hour."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_UNSAFE: Final = re.compile(r"[\n\r\x00-\x1f]")
_DEMO_FOLDER: Final = Path(__file__).parent / "demo"


def demo_files() -> Mapping[str, str]:
    """The demo's bots and their profiles: name → text."""
    paths = sorted(path for path in _DEMO_FOLDER.iterdir() if path.suffix in (".py", ".toml"))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


@dataclass(frozen=True, slots=True)
class Answers:
    """The user's answers. `kind` is a kind of agent, or the name of a shipped profile (then no profile is written)."""

    kind: str
    name: str = "my-agent"
    url: str | None = None
    command: tuple[str, ...] = ()
    budget_ms: float = 500.0
    """Limit for the median TTFA; for a text model the median TTFT."""
    pack: str = "heart-open"
    ci: Ci = "both"
    install: str = ""
    """Package that CI installs with pip: a requirement, a path or a URL. Empty without CI."""

    def __post_init__(self) -> None:
        """Check the answers. Raises UserError for one from which no file could be made."""
        if self.kind not in (*profile_kinds(), *shipped_profiles(), DEMO):
            known = (
                f"; choose one of {', '.join(profile_kinds())}; a shipped agent: {', '.join(shipped_profiles())}; "
                f"or {DEMO}, with bots to try"
            )
            near = did_you_mean(self.kind, (*profile_kinds(), *shipped_profiles(), DEMO))
            raise UserError(f"--kind {self.kind}: unknown{near or known}")
        if not _NAME.fullmatch(self.name):
            raise UserError(f"--name {self.name}: letters, digits, dots, dashes and underscores, at most 60")
        if (self.ships or self.kind == DEMO) and (self.url or self.command):
            raise UserError(f"--kind {self.kind}: ships with the harness; leave out --url and --command")
        if self.url and self.command:
            raise UserError("--url and --command: give one of them; a running agent is not started")
        if self.budget_ms <= 0:
            raise UserError(f"--budget-ttfa {self.budget_ms:g}: must be more than 0 ms")
        for option, value in (("--pack", self.pack), *([("--install", self.install)] if self.ci != "none" else [])):
            if not value or _UNSAFE.search(value):
                raise UserError(f"{option}: must be one line of plain text")

    @property
    def ships(self) -> bool:
        """True if the agent is a shipped one."""
        return self.kind in shipped_profiles()

    @property
    def agent(self) -> str:
        """The value for `--agent`."""
        if self.kind == DEMO:
            return "echo_bot.toml"
        return self.kind if self.ships else f"{self.name}.toml"

    @property
    def at_once(self) -> int:
        """The number of simultaneous calls of a check."""
        return AT_ONCE if self.kind == DEMO else 1

    @property
    def mode(self) -> Mode:
        """The mode in which the agent is played."""
        return "seeded" if self.profile.accepts_a_history else "replay"

    @property
    def profile_text(self) -> str | None:
        """The profile to write; None for a shipped agent."""
        if self.kind == DEMO:
            return demo_files()[self.agent]
        return None if self.ships else commented_profile(self.kind, self.url, self.command)

    @property
    def profile(self) -> AgentProfile:
        """The profile as the harness will read it.

        Raises:
            UserError: the answers give no valid profile, for example a URL that the kind does not accept.
        """
        if self.profile_text is None:
            return load_profile(self.kind)
        return parse_profile(self.profile_text, Path(self.agent))
