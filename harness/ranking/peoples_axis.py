"""People's axis: a board of what people prefer, from their votes and from verdicts that predict votes.

The estimate is prediction-powered (`prediction_powered`), so a judge narrows an interval as far as it agrees with people on
these very replies and cannot move a rating. That needs votes on pairs that were drawn at random, at known rates. A rater's
own choice of pairs is no such draw: votes without a rate are left out where others have one, and are rated without the judge
where none has.

A rating without an interval says nothing that a newcomer would not take for more, so there is no board at all where the
votes cannot give one; the reason is an error in one sentence, which the page shows in the board's place.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.errors import UserError
from harness.ranking.board import Board, SystemRating
from harness.ranking.board_rows import each_once, of_source, repeats_in_words
from harness.ranking.chosen_votes import PREFERRED, by_rule, voted_presentations, votes_on
from harness.ranking.columns import must_fit
from harness.ranking.connectivity import is_bounded
from harness.ranking.elo_intervals import SMALL_SAMPLE, max_t
from harness.ranking.leaderboard import rate_counted
from harness.ranking.model import RatingModel
from harness.ranking.peoples_frame import Frame
from harness.ranking.prediction_powered import PeoplesFit, fit
from harness.ranking.raters import Raters, raters_of
from harness.ranking.scale import ELO_PER_LOGIT, on_scale
from harness.statistics.arrays import Bools, Floats
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.judgment import is_reference
from harness.store.judgment_table import JudgmentTable
from harness.wording import counted

METHOD = "people's votes, prediction-powered Bradley–Terry (a tie half a win)"
_PLAIN = RatingModel("plain")
VERDICTS_ON = ("heard_text", "written", "audio")
"""Presentations of a judge's verdicts. They only predict votes, so they may be on another presentation than those."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Number of pairs of replies to one context, over all contexts: those that can be heard, and those that can be read."""

    heard: int
    read: int
    unheard: frozenset[str] = frozenset()
    """Agents that answer in text alone."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Presentation → pairs that people saw and skipped."""
    all_excluded: str = ""
    """Why no vote counts where some were given, in one sentence without its full stop."""
    read_of_agents: int | None = None
    """Of those that can be read, pairs of two agents; None: not known. Of those that can be heard all are."""


@dataclass(frozen=True, slots=True, eq=False)
class PeoplesAxis:
    """Ratings by people, and the part that a judge had in them."""

    board: Board
    votes: int
    raters: int
    pairs: int
    """Pairs of replies in the frame from which people's pairs are drawn."""
    power: float
    """Weight λ of the judge's verdicts, 0 to 1."""
    worth: float
    """Votes without a judge that would give as narrow intervals."""
    judges: tuple[str, ...]
    """Judges whose verdicts predict votes."""
    agrees: float | None
    """Share of votes, ties left out, on whose pair the judges have the same winner; None without a verdict there."""
    contexts: tuple[str, ...]
    won: Floats
    """(contexts, systems in the order of `systems`): pairs won, a tie half; votes speak for all pairs that no rule decided."""
    met: Floats
    """The same: pairs in which it took part."""
    systems: tuple[str, ...]
    by_context: Floats | None = None
    """(contexts, systems in the order of `board.names`): first-order change of the log-odds when the context counts twice; None
    where a system won or lost everything."""
    skipped: int = 0
    """Pairs that raters saw and skipped, as far as their files say so."""
    effective_raters: float = 0.0
    """(Σn)² / Σn² of the raters' numbers of votes."""

    @property
    def saved(self) -> int:
        """Number of votes that the judge saved."""
        return max(0, round(self.worth) - self.votes)

    @property
    def in_words(self) -> str:
        """The votes and the judge's part in them, in one sentence without its full stop."""
        of = f"{counted(self.votes, 'vote')} by {counted(self.raters, 'person', 'people')}"
        if not self.judges:
            return f"{of}, rated without a judge"
        if not self.saved:
            return f"{of}; {', '.join(self.judges)} saved none"
        return f"{of}, as good as {round(self.worth)}: {', '.join(self.judges)} saved {self.saved}"


def peoples_axis(
    rows: JudgmentTable, presentation: str, *, pairs: int | None = None, of_agents: int | None = None
) -> PeoplesAxis:
    """The board of the people who voted on one presentation of one condition's replies.

    `rows`: votes, and judges' verdicts on the same replies in one presentation, each once. `pairs`: number of pairs of replies
    that could be drawn, and `of_agents`, those of two agents; default, those with a row.

    Raises harness.errors.UserError: no votes, or votes that can give no interval.
    """
    votes_here = votes_on(rows, presentation)
    given, people, mine = votes_here.given, votes_here.on_replies, votes_here.mine
    if not given.any():
        raise UserError(f"nobody has voted on these replies ({presentation})")
    if not people.any():
        raise UserError("people voted only on pairs with a side that gave no reply, which a rule decides: add votes on others")
    must_fit(rows)
    notes = _notes(int((given & ~people).sum()), int((people & ~mine).sum()), None if votes_here.are_drawn else int(mine.sum()))
    best: PeoplesAxis | None = None
    refused: UserError | None = None
    for out in _left_out(rows, mine):
        stays = np.array([name not in out for name in rows.systems], dtype=bool)
        kept = stays[rows["first"]] & stays[rows["second"]]
        sizes = None
        if pairs is not None:
            agents = min(pairs, of_agents if of_agents is not None else pairs)
            sizes = agents, round((pairs - agents) * stays[_references(rows)].mean()) if _references(rows).any() else 0
        try:
            found = _axis(
                rows.where(kept), mine[kept], votes_here.are_drawn, presentation, sizes, (*notes, *_out_in_words(out))
            )
        except UserError as error:
            refused = error  # The last is that of the most votes.
            continue
        best = found if best is None or _known(found) > _known(best) else best
        if found.by_context is not None:
            break
    if best is None:
        raise refused or UserError(f"nobody has voted on these replies ({presentation})")
    return best


def _references(rows: JudgmentTable) -> Bools:
    """(systems,): True for a reference."""
    return np.array([is_reference(name) for name in rows.systems], dtype=bool)


def _left_out(rows: JudgmentTable, mine: Bools) -> Iterator[frozenset[str]]:
    """References to leave out, the first choice first: those on too few conversations for an interval; all; those not voted on.

    They have one vote in eight, so a small run has few on each; one that won or lost these few would leave the agents without
    an interval, and those that nobody voted on would leave no board.
    """
    voted = rows.where(mine)
    here = (name for name in rows.systems if is_reference(name) and rows.of_system(name).any())
    met = {name: int(np.unique(voted["context"][voted.of_system(name)]).size) for name in here}
    unmet = frozenset(name for name in met if not met[name])
    of_agents = ~(_references(rows)[voted["first"]] | _references(rows)[voted["second"]])
    few = frozenset(name for name in met if met[name] < FEWEST_CLUSTERS)
    yield from dict.fromkeys([few, frozenset(met), unmet] if of_agents.any() else [unmet])


def _out_in_words(out: Collection[str]) -> list[str]:
    return [f"Left out, for too few votes: {', '.join(sorted(out))}."] if out else []


def _known(axis: PeoplesAxis) -> tuple[int, int, bool]:
    """How much a board says of agents: systems that met, then intervals and bounds, then whether verdicts could narrow them."""
    agents = [row for row in axis.board.systems if not is_reference(row.system)]
    return -axis.board.parts, sum(row.interval is not None for row in agents), axis.by_context is not None


def _axis(
    rows: JudgmentTable, mine: Bools, are_drawn: bool, presentation: str, sizes: tuple[int, int] | None, notes: Sequence[str]
) -> PeoplesAxis:
    """The board of these votes and verdicts. `sizes`: pairs of two agents, and with a reference.

    Raises UserError: the votes can give no interval.
    """
    frame = Frame(rows, mine, sizes)
    voters = raters_of(rows["judge"][mine].astype(np.int64), rows.judges)
    notes = [*notes, *_refusals_and_notes(frame, voters, are_drawn)]
    votes = int(mine.sum())
    judges = frame.judges if are_drawn else ()
    inside = rows.where(mine | ((rows["human"] == 0) & (rows["replicate"] == 0)))
    together = _PLAIN.counted(inside.where(of_source(inside, "human")))
    won, met = frame.pairs_won()
    shares = dict(zip(frame.systems, (won.sum(axis=0) / met.sum(axis=0)).tolist(), strict=True))
    found = fit(frame.sample(), None if are_drawn else 0.0) if is_bounded(frame.wins()) else None
    if found is None:
        alone = rate_counted(together, _PLAIN, notes=notes)
        board = replace(alone, systems=tuple(replace(row, win_rate=shares[row.system]) for row in alone.systems))
    else:
        board = _board(found, frame, shares, together.whole.axes, presentation, notes)
    axis = PeoplesAxis(
        board, votes, voters.count, frame.pairs, 0.0, float(votes), (), frame.agreement(), frame.contexts, won, met,
        frame.systems, effective_raters=voters.effective,
    )  # fmt: skip
    if found is None:
        return axis
    return replace(axis, power=found.power, worth=found.worth, judges=judges, by_context=found.by_context)


def axis_of(table: JudgmentTable, condition: str | None, presentation: str | None, pairs: Pairs | None = None) -> PeoplesAxis:
    """People's axis of one condition (None: of any). `presentation`: the one that people voted on; None: the replies as heard,
    or else as read. `pairs`: number of pairs of replies of which a sound, or a text, could be drawn.

    Raises harness.errors.UserError: as `peoples_axis`.
    """
    here = table["purpose"] == 0
    if condition is not None:
        here &= table.named("condition", condition)
    rows, asked_again = table.where(here), table.where((table["human"] == 1) & (table["purpose"] != 0))
    # A side without a reply gave none in any presentation.
    votes, ruled = rows["human"] == 1, by_rule(rows)
    if pairs is not None and pairs.all_excluded and not votes.any():
        raise UserError(pairs.all_excluded)
    verdicts = (rows["human"] == 0) & ~ruled
    voted_on = voted_presentations(rows)
    of_votes = presentation or next(iter(voted_on), PREFERRED[0])
    of_verdicts = next((name for name in VERDICTS_ON if (verdicts & rows.named("presentation", name)).any()), None)
    kept = ruled | (votes & rows.named("presentation", of_votes))
    if of_verdicts is not None:
        kept |= verdicts & rows.named("presentation", of_verdicts)
    is_sound = of_votes.startswith("audio")
    if is_sound:
        # Neither a reference nor a text agent has a sound, so no pair with one can be drawn for a listener.
        unheard = pairs.unheard if pairs is not None else frozenset()
        has_sound = np.array([not is_reference(name) and name not in unheard for name in rows.systems], dtype=bool)
        kept &= has_sound[rows["first"]] & has_sound[rows["second"]]
    rows = rows.where(kept)
    axis = peoples_axis(
        rows.where(each_once(rows)), of_votes, pairs=None if pairs is None else pairs.heard if is_sound else pairs.read,
        of_agents=None if pairs is None else pairs.heard if is_sound else pairs.read_of_agents,
    )  # fmt: skip
    notes = repeats_in_words(rows)
    if condition is not None:
        asked_again = asked_again.where(asked_again.named("condition", condition))
    if earlier := int(asked_again.named("presentation", of_votes).sum()):
        notes.append(
            f"{counted(earlier, 'earlier vote')} of a rater on a pair that they voted on again left out: the last counts."
        )
    if others := [name for name in voted_on if name != of_votes]:
        notes.append(f"Votes on another presentation ({', '.join(others)}) are left out: rate them with --presentation.")
    skipped = pairs.skipped.get(of_votes, 0) if pairs is not None else 0
    if skipped:
        notes.append(
            f"{skipped} of {counted(axis.votes + skipped, 'pair')} that people saw were skipped. A skip is no tie and no vote: "
            "where people skip what they find hard, differences look larger and intervals narrower than they are."
        )
    return replace(axis, skipped=skipped, board=replace(axis.board, warnings=(*axis.board.warnings, *notes))) if notes else axis


def _notes(ruled: int, not_drawn: int, chosen: int | None) -> list[str]:
    """Sentences on the votes that were left out, and on `chosen` votes where none was drawn."""
    notes = []
    if chosen is not None:
        notes.append(
            f"{counted(chosen, 'vote')} on pairs that were not drawn at random: rated without a judge, and only as good as the "
            "choice of pairs."
        )
    if not_drawn:
        notes.append(f"{counted(not_drawn, 'vote')} on pairs that were not drawn at random left out.")
    if ruled:
        notes.append(f"{counted(ruled, 'vote')} on pairs with a side that gave no reply left out: a rule decides those.")
    return notes


def _refusals_and_notes(frame: Frame, voters: Raters, judged: bool) -> list[str]:
    """Notes on a small sample. `judged`: verdicts are to predict the votes.

    Raises UserError: the votes can give no interval.
    """
    voted = np.unique(frame.voted)
    contexts = np.unique(frame.context[voted]).size
    if voted.size == 1:
        raise UserError("all votes are on one pair of replies: draw pairs at random from the whole run with `harness listen`")
    if contexts < FEWEST_CLUSTERS:
        raise UserError(
            f"people voted on {counted(contexts, 'conversation')}, and an interval needs {FEWEST_CLUSTERS}: vote on others, or "
            "play more if the run has no others"
        )
    met = np.zeros(len(frame.systems), dtype=bool)
    ruled = np.flatnonzero(~np.isnan(frame.decided))
    met[frame.first[voted]] = met[frame.second[voted]] = True
    # One that gave no reply needs no vote; one that only met such a side would seem to win everything.
    met[frame.first[ruled][frame.decided[ruled] < 1]] = met[frame.second[ruled][frame.decided[ruled] > 0]] = True
    if not met.all():
        names = ", ".join(frame.systems[k] for k in np.flatnonzero(~met))
        raise UserError(f"nobody voted on a pair with {names}: add votes, drawn from all pairs")
    known = ~np.isnan(frame.stated)
    if judged and known.any() and not known[frame.voted].any():
        raise UserError(
            f"{', '.join(frame.judges)}: no verdict on any of the {counted(voted.size, 'pair')} that people voted on: judge "
            "the whole run with it"
        )
    notes = (
        [f"Votes on {contexts} conversations: intervals rest on a small-sample correction."] if contexts < SMALL_SAMPLE else []
    )
    if voters.note:
        notes.append(voters.note)
    return notes


def _board(
    found: PeoplesFit,
    frame: Frame,
    shares: Mapping[str, float],
    axes: Mapping[str, Mapping[str, float]],
    presentation: str,
    notes: Sequence[str],
) -> Board:
    elo, own = on_scale(found.theta), np.diag(found.covariance.matrix)
    error = ELO_PER_LOGIT * np.sqrt(np.clip(own, 0.0, None))
    half, wide = error * found.covariance.quantile(), error * max_t(found.covariance)
    votes = np.bincount(np.concatenate([frame.first[frame.voted], frame.second[frame.voted]]), minlength=elo.size)
    rows = [
        SystemRating(
            system=name,
            elo=float(elo[k]),
            interval=(float(elo[k] - half[k]), float(elo[k] + half[k])),
            win_rate=shares[name],
            axes=axes.get(name, {}),
            judgments=int(votes[k]),
            contexts=_contexts_of(frame, k),
            band=(float(elo[k] - wide[k]), float(elo[k] + wide[k])),
            error=float(error[k]),
        )
        for k, name in enumerate(frame.systems)
    ]
    return Board(
        method=METHOD,
        systems=tuple(sorted(rows, key=lambda row: -row.elo)),
        warnings=tuple(notes),
        presentation=presentation,
        judgments=frame.vote.size,
        contexts=int(np.unique(frame.context[frame.voted]).size),
        names=frame.systems,
        covariance=found.covariance,
    )


def _contexts_of(frame: Frame, system: int) -> int:
    """Conversations in which people voted on a pair with this system."""
    pair = frame.voted
    mine = (frame.first[pair] == system) | (frame.second[pair] == system)
    return int(np.unique(frame.context[pair][mine]).size)
