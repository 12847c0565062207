"""The run in one object: the source of `--json`, of the terminal's table and of the report's verdicts.

`cells` holds the figures of a run (`harness.figures.cells`), and `agents` is the short form for a run whose agents have one
cell each; where they have several, its figures are null, because no single one would be the agent's. Cautions are derived from
the figures, so that they are never out of date.
"""

from typing import Any

from pydantic import Field, computed_field

from harness.figures.cautions import Caution, cautions
from harness.figures.cells import ReferenceSummary, RunFigures
from harness.figures.circumstances import Circumstances
from harness.figures.head_to_head import sentences
from harness.judging import load_judge_settings
from harness.judging.validation.against_people import shipped_checks
from harness.judging.validation.sentences import why_unrated
from harness.printable import visible_json
from harness.ranking.votes_needed import votes_to_tell_apart

_KEYS = frozenset({"agent", "condition", "mode", "presentation", "step", "subset", "elo_over"})
_ALWAYS_KNOWN = frozenset({"kind", "family"})


class RunSummary(RunFigures):
    """The summary of a run (see the module's docstring)."""

    circumstances: Circumstances = Field(default_factory=Circumstances, exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def agents(self) -> dict[str, dict[str, Any]]:
        """Agent → the figures of its one cell; null where it has several."""
        found: dict[str, dict[str, Any]] = {}
        for cell in self.whole:
            figures = cell.model_dump(exclude=set(_KEYS))
            if cell.agent in found:
                figures = {name: value if name in _ALWAYS_KNOWN else None for name, value in figures.items()}
            found[cell.agent] = figures
        return found

    @computed_field  # type: ignore[prop-decorator]
    @property
    def references(self) -> dict[str, ReferenceSummary]:
        """Reference → its rating, where the run has one board."""
        boards = [b for b in self.boards if b.subset == "all" and b.presentation == self.quoted(b.condition)]
        return boards[0].references if len(boards) == 1 else {}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Cautions that are shown with the figures everywhere, gravest first."""
        return cautions(self, self.circumstances)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def warnings(self) -> list[str]:
        """The cautions' texts alone."""
        return [caution.text for caution in self.cautions]

    @property
    def preferred(self) -> tuple[str, ...]:
        """People's preference between each two agents, one sentence each."""
        return sentences(self.head_to_head, self.conditions)

    @property
    def why_unrated(self) -> str:
        """Why the judge that runs here rates only where it is named, in one sentence."""
        return why_unrated(load_judge_settings("embedded").judge_id, shipped_checks())

    @property
    def quality(self) -> tuple[str, ...]:
        """The state of the quality axis, one sentence for each condition, why it is not people's yet, and the way there."""
        found = [board for condition in self.conditions if (board := self.board(condition)) is not None]
        reasons = [board.people_refused for board in found if board.people_refused] + list(self.people_refused.values())
        refused = [f"No people's ratings yet: {reason}." for reason in reasons]
        # The way there would say again that the run is too small.
        too_small = bool(refused) and len(self.circumstances.contexts) < (votes_to_tell_apart(1.0, references=False) or 0)
        if not found and self.way_to_people:
            if refused:
                unknown = () if self.head_to_head else ("Quality is not known: people's votes give no ratings yet.",)
                said = (*unknown, *dict.fromkeys(refused))
                return said if too_small else (*said, self.way_to_people)
            failed = [judge.id for judge in self.judges if judge.trust in ("excluded", "silent")]
            if failed and len(failed) == len(self.judges):
                why = f"{', '.join(failed)} failed {'its' if len(failed) == 1 else 'their'} check on pairs with known answers"
                why = "; ".join(f"{judge.id}: {judge.why_missing}" for judge in self.judges if judge.why_missing) or why
                return f"Quality is not known: {why}.", self.way_to_people
            if self.boards:
                heard = "judges heard the replies, which is an opinion (harness rank RUN --presentation audio)"
                return f"Quality is not known: {heard}.", self.way_to_people
            if self.circumstances.verdicts:
                return "Quality is not known: these runs have no ranking in common.", self.way_to_people
            return "Quality is not known: nothing was judged.", self.why_unrated, self.way_to_people
        several = len(found) > 1
        words = [f"{board.condition}: {board.quality_words}." if several else f"{board.quality_words}." for board in found]
        ways = [] if too_small else [board.way_to_people for board in found if board.way_to_people]
        return tuple(dict.fromkeys([*words, *refused, *ways]))

    def to_json(self) -> str:
        """The object that `--json` prints."""
        return visible_json(self.model_dump_json(by_alias=True, indent=2))
