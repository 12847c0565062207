"""Selection of the sessions, replies and verdicts that count for an agent; no other module decides this.

A figure belongs to one *cell*: agent × condition × mode × presentation, and quality and latency of a cell come from the same
sessions:

* Every session of a cell counts. Repeats are replicates of their context. People in the supporter's seat may be more than the
  repeats: their further replies meet the agents' replies of the repeats again, in turn.
* A session is *answered*, *lost* or *missing*. It is lost by the agent's fault (it said nothing, crashed, refused, broke the
  wire): it loses the comparison and ranks slowest, so that no agent gains by silence. It is missing by the harness's fault, or
  where that cannot be decided (an analysis failed, no word was understood, nothing was heard while others had most of the
  agent's processors): such a session gives no figure and is counted.
* Turns that were timed on different machines are not pooled unless the run's user asked for that.
* Verdicts count that answer the main question, by judges that did not fail their check.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final, Literal, cast

import numpy as np

from harness.scenarios.context import Context, spoken_indices
from harness.store.judgment import Judgment, Presentation, reference_name
from harness.store.judgment_table import JudgmentTable, stored_table
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey
from harness.timing.figures import NO_REPLY_TEXT, TurnTiming

HEARD: Final[Presentation] = "heard_text"
"""The presentation that judges of a run read: the reply as transcribed from its sound, as a listener heard it."""
BY_EAR: Final[Presentation] = "audio"
"""The presentation of replies that are heard without their delay. A judge's board of it is an opinion, and never quoted."""
WITH_DELAY: Final[Presentation] = "audio_with_delay"
"""The presentation that contains the latency itself, and so is never shown beside one."""
AGENT_FAULTS: Final = frozenset(
    ("refused", "open_timeout", "garbage", "flood", "overflow", "closed_early", "agent_died", "endpoint_failed",
     "rang_out", "busy", "declined", "hung_up")
)  # fmt: skip
"""Failure kinds that are certainly the agent's fault. Of five others nobody can tell, so their sessions are missing:
`no_history` (a history was to be given to an agent that by its profile takes none), `codec` (the caller offers few, and
not to speak one is no mistake), `no_media` (a firewall between both looks like an agent without sound), and `not_found` and
`unauthorised` (the address, the key, the name and the password are the profile's)."""
ENDPOINT_FAULT: Final = "endpoint_"
"""Prefix of every failure kind of a text endpoint."""
NOT_TIMED: Final = "lost"
"""`TurnTiming.method` of the turn that represents a session lost before it could be timed."""

_LOST: Final = TurnTiming(method=NOT_TIMED, spoken_end_ms=0.0, ttfa_ms=None, no_reply=True)
MACHINES_DIFFER: Final = "machines_differ"
"""`TurnTiming.discarded` of every turn of a merged run whose machines differ, where its user did not pool them."""

Fate = Literal["answered", "lost", "missing"]
Texts = dict[tuple[str, str, int], str]
"""(context, system, repeat) → the reply as judged."""
Turns = Mapping[str, Sequence[TurnTiming]]
"""Context → its timed turns."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of one session of a cell on a board. `text` is empty unless answered; `why` is the reason if lost or missing."""

    session: Session
    fate: Fate
    text: str = ""
    why: str = ""


class Selection:
    """The parts of one run that count. `votes` are people's that are stored outside the store (of a listening test), `machines`
    those whose sessions count; None: all. `step`: the only step of a load test that counts; empty: all."""

    def __init__(
        self,
        store: RunStore,
        votes: Sequence[Judgment] = (),
        *,
        keep_excluded: bool = False,
        left_out: str = "",
        machines: frozenset[str] | None = None,
        step: str = "",
    ) -> None:
        self.store = store
        self.manifest = store.manifest
        self._machines = machines
        self.step = step
        self.apart = machines is None and self.manifest.fleet is not None and self.manifest.fleet.apart
        """True if its turns are from different machines, so that they give no common figure."""
        self._votes = tuple(votes)
        self._seated = self.manifest.seated
        self._keep_excluded = keep_excluded
        self.left_out = left_out
        """Why no vote of the run's listening tests counts, if there are some: a sentence without its full stop."""

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """The run's sessions."""
        if self.step:
            return tuple(self.store.calls_of(self.step))
        return tuple(s for s in self.store.sessions() if self._machines is None or s.machine in self._machines)

    @property
    def by_step(self) -> "tuple[Selection, ...]":
        """The selection of each step of a load test that says something about the agent; of every other run this one."""
        if (load := self.manifest.load) is None:
            return (self,)
        return tuple(Selection(self.store, self._votes, step=step.name) for step in load.steps if step.says_of_agent)

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        """The run's contexts. Read once: every cell asks for them, and a long run has many of both."""
        return self.store.contexts()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The run's line conditions, in the order given. Each has a separate board and latency table."""
        return tuple(self.manifest.conditions)

    @cached_property
    def replicates(self) -> tuple[int, ...]:
        """The numbers of the repeats, and of further people's replies to one context."""
        seated = (s.key.repeat + 1 for s in self.of_the_seat)
        return tuple(range(max((self.manifest.repeats, *seated))))

    @cached_property
    def of_the_plan(self) -> tuple[Session, ...]:
        """The sessions that the run was asked to play, without those of the supporter's seat."""
        return tuple(s for s in self.sessions if s.key.agent not in self._seated)

    @cached_property
    def of_the_seat(self) -> tuple[Session, ...]:
        """The sessions of the supporter's seat."""
        return tuple(s for s in self.sessions if s.key.agent in self._seated)

    def seat_alone(self, replicate: int) -> frozenset[str]:
        """The systems that must take part in each comparison of a replicate; none for a repeat of the run, where all pairs
        count. In a further one the agents' replies are lent, and pairs of them have been compared before."""
        return self._seated if replicate >= self.manifest.repeats else frozenset()

    def of(self, agent: str, condition: str, replicate: int | None = None) -> tuple[Session, ...]:
        """The sessions of one agent in one condition, all repeats unless one is named."""
        return tuple(
            s
            for s in self.sessions
            if s.key.agent == agent and s.key.condition == condition and replicate in (None, s.key.repeat)
        )

    def turns(self, agent: str, condition: str) -> Turns:
        """Context → every turn of the cell, a lost session as one turn that ranks slowest. Text agents lose no turn: they
        have no sound to wait for."""
        found: dict[str, list[TurnTiming]] = {}
        for session, timed in self.timed(agent, condition):
            found.setdefault(session.key.context_id, []).extend(timed)
        return found

    def turn_texts(self, agent: str, condition: str) -> Mapping[str, Sequence[str | None]]:
        """Context → the caller's text in each of `turns`, marks included; None for a turn that was lost."""
        contexts = {context.id: context for context in self.contexts}
        found: dict[str, list[str | None]] = {}
        for session, timed in self.timed(agent, condition):
            context = contexts.get(session.key.context_id)  # An older load test has none.
            given = [] if context is None else [context.turns[k].text for k in spoken_indices(context, session.key.mode)]
            # A call that ended early has fewer turns than its conversation.
            said = [given[k] if session.status == "finished" and k < len(given) else None for k in range(len(timed))]
            found.setdefault(session.key.context_id, []).extend(said)
        return found

    def timed(self, agent: str, condition: str) -> list[tuple[Session, Sequence[TurnTiming]]]:
        """The sessions of a cell that have turns, with them."""
        spoken = next(a.kind for a in self.manifest.agents if a.name == agent) != "text"
        found: list[tuple[Session, Sequence[TurnTiming]]] = []
        for session in self.of(agent, condition):
            if session.status == "finished":
                found.append((session, session.turn_timings))
            elif spoken and is_agents_fault(session.failure_kind):
                lost = replace(_LOST, labels=(session.failure_kind or "failed",))
                found.append((session, session.turn_timings if session.key.step else (lost,)))
        if self.apart:
            found = [(session, tuple(replace(t, discarded=MACHINES_DIFFER) for t in timed)) for session, timed in found]
        return [(session, timed) for session, timed in found if timed]

    def replies(self, condition: str, replicate: int, presentation: Presentation) -> list[Reply]:
        """Result of each agent's session in one condition and repeat, in the order of contexts; in a replicate beyond the
        run's repeats, people's and those that are lent to them."""
        return [
            Reply(s, "missing", why="The analysis failed on this session.")
            if s.id in self._not_analysed
            else reply_of(s, presentation)
            for s in self.sessions
            if s.key.condition == condition and self._takes_part(s.key, replicate)
        ]

    def _takes_part(self, key: SessionKey, replicate: int) -> bool:
        if replicate < self.manifest.repeats or key.agent in self._seated:
            return key.repeat == replicate
        lent = (key.condition, replicate, key.context_id) in self._seated_on
        return lent and key.repeat == replicate % self.manifest.repeats

    @cached_property
    def _seated_on(self) -> frozenset[tuple[str, int, str]]:
        """Condition, replicate and context of each reply of the supporter's seat."""
        return frozenset((s.key.condition, s.key.repeat, s.key.context_id) for s in self.of_the_seat)

    @cached_property
    def _not_analysed(self) -> frozenset[str]:
        """Sessions that could not be timed or transcribed, through no fault of their agent."""
        return frozenset(f.session for f in self.store.step_failures() if f.step in ("timing", "transcribing"))

    def reply_texts(self, condition: str, presentation: Presentation) -> Texts:
        """The replies of one board as judged, references included; lost or missing sessions have none."""
        found = {(c.id, reference_name(r.id), n): r.text for c in self.contexts for r in c.references for n in self.replicates}
        for n in self.replicates:
            for reply in self.replies(condition, n, presentation):
                if reply.fate == "answered":
                    found[reply.session.key.context_id, reply.session.key.agent, n] = reply.text
        return found

    @cached_property
    def excluded_judges(self) -> frozenset[str]:
        """Judges that got half or more of the pairs with known answers wrong."""
        if self._keep_excluded:
            return frozenset()
        return frozenset(check.judge for check in self.store.judge_checks() if check.excluded)

    @cached_property
    def verdicts(self) -> tuple[Judgment, ...]:
        """Every verdict that counts, audits of judges included: checks of judges need them.

        A row that names no condition is of the run's only one; in a run of several its condition is not known, and it counts
        nowhere.
        """
        return tuple(row for row in self.every_verdict() if row.judge not in self.excluded_judges)

    def every_verdict(self) -> Iterator[Judgment]:
        """The same verdicts and those of excluded judges, one at a time: all of a long run are hundreds of megabytes."""
        only = self.conditions[0] if len(self.conditions) == 1 else ""
        for row in chain(map(Judgment.model_validate, self.store.stored_judgments()), self._votes):
            if row.condition or only:
                yield row if row.condition else row.model_copy(update={"condition": only})

    @cached_property
    def table(self) -> JudgmentTable:
        """The rows of `verdicts` as columns, for everything that only counts and fits them."""
        only = self.conditions[0] if len(self.conditions) == 1 else ""
        votes = (v for v in self._votes if v.judge not in self.excluded_judges and (v.condition or only))
        return stored_table(self._stored(only), (v if v.condition else v.model_copy(update={"condition": only}) for v in votes))

    def _stored(self, only: str) -> Iterator[dict[str, Any]]:
        for row in self.store.stored_judgments():
            condition = row.get("condition") or only
            if condition and row["judge"] not in self.excluded_judges:
                row["condition"] = condition
                yield row

    def quoted_table(self, quoted: Mapping[str, Presentation]) -> JudgmentTable:
        """The verdicts of one board of each condition, without audits. `quoted`: condition → presentation."""
        table = self.table
        kept = np.zeros(len(table), dtype=bool)
        for condition, presentation in quoted.items():
            kept |= table.named("condition", condition) & table.named("presentation", presentation)
        return table.where(kept & (table["purpose"] == 0))

    def rows(self, condition: str, presentation: Presentation) -> list[Judgment]:
        """The verdicts of a board of one condition and presentation."""
        return board_rows(self.verdicts, condition, presentation)

    def presentations(self, condition: str, human: bool | None = None) -> tuple[Presentation, ...]:
        """The presentations that were judged in this condition, by judges or people; `human`: by one of the two."""
        here = self.table.named("condition", condition) & (self.table["purpose"] == 0)
        if human is not None:
            here &= self.table["human"] == human
        seen = {self.table.presentations[k] for k in np.unique(self.table["presentation"][here])}
        return tuple(cast(Presentation, name) for name in sorted(seen))

    def judged(self, condition: str) -> tuple[Presentation, ...]:
        """The presentations with verdicts of judges that read in this condition, or those of people's votes where no such judge
        gave any. A judge that hears has an opinion, on a board of its own."""
        read = tuple(name for name in self.presentations(condition, human=False) if name != BY_EAR)
        return read or self.presentations(condition, human=True)

    def quoted(self, condition: str) -> Presentation:
        """The presentation whose board is quoted for this condition wherever one figure is shown."""
        return quoted_presentation(self.judged(condition))


def quoted_presentation(judged: Iterable[str]) -> Presentation:
    """The presentation that a run is quoted on: the heard one, or the only other one that was judged.

    Of several others none is quoted for the run; each has a separate board, and the user chooses. A board on which the
    delay was heard is never quoted, because it would put the latency on the axis of quality.
    """
    others = {presentation for presentation in judged if presentation != WITH_DELAY}
    return HEARD if HEARD in others or len(others) != 1 else cast(Presentation, others.pop())


def is_agents_fault(failure_kind: str | None) -> bool:
    """True if a failed session is the agent's fault. Any other failure is the harness's, and its session is missing."""
    return failure_kind is not None and (failure_kind in AGENT_FAULTS or failure_kind.startswith(ENDPOINT_FAULT))


def board_rows(verdicts: Sequence[Judgment], condition: str, presentation: Presentation) -> list[Judgment]:
    """The rows of one board: one condition, one presentation, without audits (swapped and repeated questions)."""
    return [r for r in verdicts if r.condition == condition and r.presentation == presentation and r.purpose == "main"]


def reply_of(session: Session, presentation: Presentation) -> Reply:
    """Result of a session for readers of its reply.

    Judges of `written` read the text that the agent reports to have written; all others read the heard text. A text agent,
    and a session that was never transcribed, have only the former.
    """
    if session.status == "failed":
        lost = is_agents_fault(session.failure_kind)
        return Reply(session, "lost" if lost else "missing", why=f"The session failed: {session.failure_kind}.")
    heard = presentation != "written" and session.heard_text is not None
    text = (session.heard_text if heard else session.written_text) or ""
    if text.strip():
        return Reply(session, "answered", text)
    if session.timing is not None and session.timing.silence_may_be_others:
        return Reply(session, "missing", why="Nothing was heard, while others had most of the agent's processors.")
    if session.timing is not None and session.timing.no_reply:
        return Reply(session, "lost", why=f"Nothing was heard within {NO_REPLY_TEXT}.")
    return Reply(session, "missing", why="No word of the reply was understood.")
