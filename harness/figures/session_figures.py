"""Figures of whole sessions: errors of words, and planned turns that were never spoken.

An agent that misheard the caller answers somebody else, and a reply that a listener cannot make out comforts nobody: both word
error rates are pooled over a run (errors over words), as recognisers are rated. The share of unspoken turns is over the planned
turns of sessions that say how many they had, without those that are ours; those of a conversation stop together, so
conversations are the observations of its interval.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.figures.cells import UNSPOKEN, AgentSummary, Failure, SessionFigures
from harness.figures.events import EventRow
from harness.figures.one_reply import commonest_reply
from harness.figures.reply_flags import FLAGS, TO_JUDGE, flags_of
from harness.figures.server_waits import server_waits
from harness.judging.speaks_to_judge import speaks_to_judge
from harness.replies.phrases import opening_words, plain_words
from harness.scenarios.context import Context
from harness.scenarios.pauses import without_pauses
from harness.store.selection import HEARD, Selection, Turns, reply_of
from harness.store.session import Session
from harness.store.unspoken import OURS, reasons_words, summed, unspoken_of

Pair = tuple[str, str]


def understood_wer(sessions: Sequence[Session], contexts: Mapping[str, Context]) -> float | None:
    """Word error rate of the agent's own transcript against the words of the turn; None where no agent reported one."""
    return word_error_rate([pair for _, pair in understood_pairs(sessions, contexts)])


def understood_pairs(sessions: Sequence[Session], contexts: Mapping[str, Context]) -> list[tuple[str, Pair]]:
    """(context, (said, understood)) of every session whose agent reports what it understood."""
    return [
        (s.key.context_id, (without_pauses(contexts[s.key.context_id].spoken.text), s.understood_text))
        for s in sessions
        if s.status == "finished" and s.understood_text is not None and s.key.context_id in contexts and _to_the_end(s)
    ]


def _to_the_end(session: Session) -> bool:
    """False for a call that never came to the turn with which the words are compared."""
    unanswered = session.key.mode == "replay" and session.timing is not None and session.timing.no_reply
    return not unanswered and unspoken_of(session) is None


def heard_wer(sessions: Sequence[Session]) -> float | None:
    """Word error rate of the transcript of the agent's audio against the words that it reports to have said."""
    return word_error_rate([pair for _, pair in heard_pairs(sessions)])


def heard_pairs(sessions: Sequence[Session]) -> list[tuple[str, Pair]]:
    """(context, (written, heard)) of every session of which both are known."""
    return [
        (s.key.context_id, (s.written_text, s.heard_text))
        for s in sessions
        if s.status == "finished" and s.written_text is not None and s.heard_text is not None
    ]


def word_errors(pair: Pair) -> tuple[int, int]:
    """Errors of one (meant, recognised) pair, and how many words were meant."""
    from jiwer import process_words

    meant, found = map(_bare, pair)
    if not meant:
        return 0, 0
    counted = process_words(meant, found)
    return counted.substitutions + counted.deletions + counted.insertions, len(meant.split())


def word_error_rate(pairs: Sequence[Pair]) -> float | None:
    """Errors over words of (meant, recognised) pairs, without case and punctuation; None without any meant word."""
    from jiwer import wer

    bare = [(_bare(meant), _bare(found)) for meant, found in pairs]
    bare = [(meant, found) for meant, found in bare if meant]
    if not bare:
        return None
    return float(wer([meant for meant, _ in bare], [found for _, found in bare]))


def _bare(text: str) -> str:
    return " ".join(plain_words(text))


def unspoken_chances(sessions: Sequence[Session]) -> dict[str, list[bool]]:
    """Context → each planned turn that is not ours, and whether the agent left it unspoken. Empty where nobody planned."""
    found: dict[str, list[bool]] = {}
    for session in sessions:
        if session.planned_turns is None:
            continue
        left = unspoken_of(session)
        turns = left.turns if left is not None else 0
        ours = left is not None and left.why == OURS
        flags = [False] * (session.planned_turns - turns) + ([] if ours else [True] * turns)
        if flags:
            found.setdefault(session.key.context_id, []).extend(flags)
    return found


def spoken_of(sessions: Sequence[Session]) -> tuple[int, int] | None:
    """Turns that were spoken, and turns that were planned; None where nobody planned."""
    planned = [s for s in sessions if s.planned_turns is not None]
    of = sum(s.planned_turns or 0 for s in planned)
    return (of - sum(summed(map(unspoken_of, planned)).values()), of) if planned else None


def unspoken_share(sessions: Sequence[Session]) -> float | None:
    """The share of the planned turns that the agent left unspoken; None where nobody planned."""
    flags = [flag for group in unspoken_chances(sessions).values() for flag in group]
    return sum(flags) / len(flags) if flags else None


def cut_short(sessions: Sequence[Session]) -> Iterator[Failure]:
    """A row for each finished session with unspoken turns; a failed session has a row of its own already."""
    for session in sessions:
        left = unspoken_of(session) if session.status == "finished" else None
        if left is not None:
            key = session.key
            yield Failure(context=key.context_id, agent=key.agent, condition=key.condition, kind=UNSPOKEN, detail=left.words)


def unspoken_words(cell: AgentSummary) -> str:
    """The unspoken turns of a cell in a clause, with their reasons; empty where every planned turn was spoken."""
    if cell.spoken is None or not cell.unspoken:
        return ""
    spoken, of = cell.spoken
    return f"{spoken} of {of} turns spoken; unspoken: {reasons_words(cell.unspoken)}"


def session_figures(sessions: Sequence[Session], turns: Turns, selection: Selection, events: list[EventRow]) -> SessionFigures:
    """The figures of the sessions of one cell. `turns`: those that count; `events`: its rows of them."""
    contexts = {c.id: c for c in selection.contexts}
    heard = [reply.text for s in sessions if (reply := reply_of(s, HEARD)).fate == "answered"]
    openings = Counter(opening_words(text) for text in heard)
    planned = [s for s in sessions if s.planned_turns is not None]
    return SessionFigures(
        failed=sum(s.status == "failed" for s in sessions),
        spoken=spoken_of(sessions),
        unspoken=summed(map(unspoken_of, planned)),
        unspoken_share=unspoken_share(planned),
        events=events,
        servers=server_waits(turns, selection.manifest.seed),
        commonest_reply=one_for_all(sessions),
        common_opening=(openings.most_common(1)[0][1], openings.total()) if openings else None,
        flags=_flags(sessions, contexts),
        understood_wer=understood_wer(sessions, contexts),
        heard_wer=heard_wer(sessions),
    )


def one_for_all(sessions: Sequence[Session]) -> tuple[int, int] | None:
    """The commonest reply of one agent (`commonest_reply`); of several repeats of a conversation the first counts."""
    heard = {s.key.context_id: r.text for s in reversed(sessions) if (r := reply_of(s, HEARD)).fate == "answered"}
    return commonest_reply(list(heard.values()))


def _flags(sessions: Sequence[Session], contexts: Mapping[str, Context]) -> dict[str, int]:
    """Replies that show each flag. In replay the pack's replies are nobody's, so a reply repeats only itself."""
    found: dict[str, int] = {}
    for session in sessions:
        context, reply = contexts.get(session.key.context_id), reply_of(session, HEARD)
        if context is None or reply.fate != "answered":
            continue
        turns = tuple(t for t in context.turns if t.role == "seeker") if session.key.mode == "replay" else context.turns
        shown = set(flags_of(turns, reply.text))
        if session.written_text and speaks_to_judge(session.written_text):
            shown.add(TO_JUDGE)  # judges may read what the agent wrote, too
        found = {name: found.get(name, 0) + (name in shown) for name in FLAGS}
    return found
