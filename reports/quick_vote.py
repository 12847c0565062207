"""The pairs of replies that a run's page asks people about, drawn from all of the run's pairs.

Each line condition has pairs of its own, because a vote is on one board and each condition has one; the person chooses. The
first repeat is asked about, because a person has only minutes. Replies are read as they were heard, which is what judges read;
there references compete too. Or they are heard, each from its first sound, so that no delay is heard with it; there only agents
can compete, and the frame is the pairs that have two sounds. A pair that a rule decides, because a side gave no reply, is in
neither frame. Conversations in which the screens find a crisis or an illness are asked of nobody.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from harness.figures.board_figures import sides_of, words_of_a_vote
from harness.figures.quality_state import state_of
from harness.figures.way_to_people import votes_asked
from harness.ranking.board_rows import judges_of
from harness.ranking.draw_pairs import DrawnPair, drawn
from harness.ranking.votes_needed import minutes
from harness.reports.notice import Notice, study_of_page
from harness.reports.session_view import SessionView
from harness.reports.shown_runs import Part, ShownRuns
from harness.reports.vote_pairs import MOST_PAIRS, Asking, LinePairs, QuickVote, ShownReply, VotePair
from harness.scenarios.context import Context
from harness.scenarios.screens import fit_for_people
from harness.store.judgment import is_rule, reference_name
from harness.store.judgment_table import JudgmentTable
from harness.store.reply_sound import part_of
from harness.store.selection import HEARD, Reply
from harness.study.study import Study

_Sides = Mapping[str, ShownReply]
"""System → its reply to one context."""


def quick_vote(shown: ShownRuns, sessions: Mapping[str, Sequence[SessionView]], study: Study | None = None) -> QuickVote:
    """The pairs of a page of one run; none, with the reason, where raters could not compare two replies to the same thing.

    `sessions`: context → the sessions of the page. `study`: what people read before; None for the one that was given last.
    """
    part = shown.parts[0]
    if shown.several:
        return QuickVote(why_not="Votes are given on the page of one run: open the report of each run.")
    if part.store.manifest.mode == "replay":
        return QuickVote(
            why_not="In a replay every agent has a conversation of its own, so no two replies are to the same one."
        )
    contexts = fit_for_people(shown.contexts)
    left_out = len(shown.contexts) - len(contexts)
    found = (_line_pairs(shown, contexts, condition, sessions) for condition in part.selection.conditions)
    lines = tuple(line for line in found if line.read or line.heard)
    if not lines:
        beside = " beside those with a crisis or an illness, which are asked of nobody" if left_out else ""
        return QuickVote(why_not=f"No conversation of this run has two replies to compare{beside}.", left_out=left_out)
    notice = Notice(study or study_of_page(part.store.folder), ("vote.stored_here",))
    return QuickVote(part.store.manifest.id, lines, str(part.store.folder), notice, left_out=left_out)


def _line_pairs(
    shown: ShownRuns, contexts: Sequence[Context], condition: str, sessions: Mapping[str, Sequence[SessionView]]
) -> LinePairs:
    """The pairs of these contexts in one condition, which may be none."""
    part = shown.parts[0]
    answered = [reply for reply in part.selection.replies(condition, 0, HEARD) if reply.fate == "answered"]
    spoken = {context.id: _spoken(context.id, answered, sessions) for context in contexts}
    read = {
        c.id: spoken[c.id]
        | {reference_name(r.id): ShownReply(reference_name(r.id), len(sessions[c.id]) + k) for k, r in enumerate(c.references)}
        for c in contexts
    }
    heard = {context: {name: r for name, r in sides.items() if r.to_ms > r.from_ms} for context, sides in spoken.items()}
    rows = _judged(part, condition)
    certainty, decided = _verdicts(rows)
    run = part.store.manifest.id
    borne_out = state_of(None, judges_of(rows), part.summary.judges) == "borne_out"

    def pairs(replies: Mapping[str, _Sides], how: str) -> tuple[VotePair, ...]:
        subset = {context.id: context.subset for context in contexts}
        frame = [
            DrawnPair(context, subset[context], one, other, certainty.get((context, one, other)))
            for context, sides in replies.items()
            for one, other in combinations(sorted(sides), 2)
            if (context, one, other) not in decided
        ]
        place = {context.id: k for k, context in enumerate(shown.contexts)}
        return tuple(
            VotePair(place[p.context], replies[p.context][p.first], replies[p.context][p.second], p.rate)
            for p in drawn(frame, f"{run} {condition} {how}", MOST_PAIRS, by_doubt=borne_out)
        )

    asked_read, asked_heard = pairs(read, "read"), pairs(heard, "heard")
    turns = [c.turns[-1].text for c in contexts if read[c.id]]
    texts = [reply.text for reply in answered] + [r.text for c in contexts for r in c.references]
    sound_s = [(side.to_ms - side.from_ms) / 1_000 for sides in heard.values() for side in sides.values()]
    return LinePairs(
        condition,
        asked_read,
        asked_heard,
        _asking(read, asked_read, words_of_a_vote(turns, texts)),
        _asking(heard, asked_heard, words_of_a_vote(turns, ()), 2 * fmean(sound_s) if sound_s else 0.0),
    )


def _asking(replies: Mapping[str, _Sides], pairs: Sequence[VotePair], words: float, sound_s: float = 0.0) -> Asking:
    """What a person is asked for; `words` and `sound_s` are of one vote."""
    asked = votes_asked(sides_of([(context, system) for context, sides in replies.items() for system in sides]))
    votes = tuple((n, minutes(n, words=words, sound_s=sound_s)) for n in asked.votes if n <= len(pairs))
    return Asking(votes, asked.conversations, asked.in_words(words, sound_s) if votes else "")


def _spoken(context: str, answered: Sequence[Reply], sessions: Mapping[str, Sequence[SessionView]]) -> dict[str, ShownReply]:
    """Agent → its reply to one context, with its part of the sound file if the page has one."""
    place = {shown.session: k for k, shown in enumerate(sessions[context])}
    found = {}
    for reply in answered:
        session = reply.session
        if session.key.context_id != context:
            continue
        has_sound = sessions[context][place[session.id]].audio is not None
        from_ms, to_ms = (part_of(session.timing) if has_sound else None) or (0.0, 0.0)
        found[session.key.agent] = ShownReply(session.key.agent, place[session.id], from_ms, to_ms)
    return found


def _judged(part: Part, condition: str) -> JudgmentTable:
    """The verdicts of judges and rules on the first repeat, in the quoted presentation."""
    table = part.selection.table
    mine = table.named("condition", condition) & table.named("presentation", part.summary.quoted(condition))
    return table.where(mine & (table["purpose"] == 0) & (table["human"] == 0) & (table["replicate"] == 0))


def _verdicts(rows: JudgmentTable) -> tuple[dict[tuple[str, str, str], float], frozenset[tuple[str, str, str]]]:
    """Pair → how certain the judges are of it; and the pairs that a rule decided."""
    size = max(len(rows.systems), 1)
    low, high = np.minimum(rows["first"], rows["second"]), np.maximum(rows["first"], rows["second"])
    key, of = np.unique((rows["context"].astype(np.int64) * size + low) * size + high, return_inverse=True)
    sign = np.where(rows["first"] <= rows["second"], 1, -1)
    mean = np.bincount(of, sign * rows["winner"] * rows["strength"], key.size) / np.maximum(
        np.bincount(of, minlength=key.size), 1
    )
    rules = np.isin(rows["judge"], [k for k, name in enumerate(rows.judges) if is_rule(name)])
    ruled = np.bincount(of, rules, key.size) > 0
    names = [
        (rows.contexts[k // (size * size)], *sorted((rows.systems[k // size % size], rows.systems[k % size]))) for k in key
    ]
    certain = {pair: abs(float(m)) for pair, m, rule in zip(names, mean, ruled, strict=True) if not rule}
    return certain, frozenset(pair for pair, rule in zip(names, ruled, strict=True) if rule)
