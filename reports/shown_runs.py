"""What one page is about: the runs it shows, under the names that their agents have on it.

A page of one run is the plain case of a page of several, so that everything behind this seam is written once. Agents keep
their names unless two runs have the same one; then each is called after its run as well, because two recordings of one
profile, on two days or two machines, are two measurements and not one with twice the turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.steps.judge import HEARD
from harness.steps.rank import Measured, counted_rows, measured
from harness.steps.summary import RunSummary
from harness.store.judgment import Judgment, reference_name
from harness.store.run_store import RunStore, Session
from reports import ratings
from scenarios.context import Context


@dataclass(frozen=True, slots=True)
class Part:
    """One run of a page. `sessions` and `judgments` carry the names that agents have on the page."""

    store: RunStore
    summary: RunSummary
    label: str
    names: Mapping[str, str]
    """The run's own name of an agent → its name on the page."""
    sessions: tuple[Session, ...]
    judgments: tuple[Judgment, ...]
    counted: tuple[Judgment, ...]
    """The judgments without those of judges that failed their checks."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The runs of a page, put together. `ranked`: the verdicts its ratings are made of; none where there is no joint one."""

    title: str
    parts: tuple[Part, ...]
    summary: RunSummary
    contexts: tuple[Context, ...]
    ranked: tuple[Judgment, ...]
    differences: tuple[tuple[str, str], ...] = ()
    """(what the runs differ in, what that means for the reader)."""

    @property
    def several(self) -> bool:
        """More than one run."""
        return len(self.parts) > 1


def alone(store: RunStore, summary: RunSummary) -> Gathered:
    """A page of one run."""
    only = part(store, summary, store.folder.name, {agent.name: agent.name for agent in store.manifest.agents})
    return Gathered(store.folder.name, (only,), summary, store.contexts(), tuple(ratings.joint_rows(only.counted)))


def part(store: RunStore, summary: RunSummary, label: str, names: Mapping[str, str]) -> Part:
    """A run with its agents called by their names on the page."""

    def on_page(name: str) -> str:
        return names.get(name, name)

    def renamed(rows: Sequence[Judgment]) -> tuple[Judgment, ...]:
        return tuple(
            row.model_copy(update={"system_a": on_page(row.system_a), "system_b": on_page(row.system_b)}) for row in rows
        )

    return Part(
        store=store,
        summary=summary,
        label=label,
        names=names,
        sessions=tuple(replace(s, key=replace(s.key, agent=on_page(s.key.agent))) for s in store.sessions()),
        judgments=renamed(store.judgments()),
        counted=renamed(counted_rows(store)),
    )


def measured_on_page(parts: Sequence[Part]) -> Measured:
    """What was measured in all runs, by the names on the page: of each run its first condition and repeat."""
    whole = Measured({}, {}, {}, {})
    for each in parts:
        found = measured(each.store, HEARD)

        def shown(name: str, names: Mapping[str, str] = each.names) -> str:
            return names.get(name, name)

        whole = Measured(
            {**whole.ttfa, **{shown(name): values for name, values in found.ttfa.items()}},
            {
                figure: {
                    **whole.others.get(figure, {}),
                    **{shown(n): v for n, v in found.others.get(figure, {}).items()},
                }
                for figure in (*whole.others, *(f for f in found.others if f not in whole.others))
            },
            {**whole.cut_ins, **{shown(name): values for name, values in found.cut_ins.items()}},
            {**whole.texts, **{(context, shown(name)): text for (context, name), text in found.texts.items()}},
        )
    return whole


def reply_texts(contexts: Sequence[Context], sessions: Sequence[Session]) -> dict[tuple[str, str], str]:
    """(conversation, system) → its reply as judged: heard where it was transcribed, else as written."""
    found = {(c.id, reference_name(r.id)): r.text for c in contexts for r in c.references}
    for session in sessions:
        text = session.heard_text if session.heard_text is not None else session.written_text
        found[session.key.context_id, session.key.agent] = text or ""
    return found
