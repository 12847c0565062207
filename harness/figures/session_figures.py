"""Figures of whole sessions: errors of words, and planned turns that were never spoken.

An agent that misheard the caller answers somebody else, and a reply that a listener cannot make out comforts nobody: both word
error rates are pooled over a run (errors over words), as recognisers are rated. The share of unspoken turns is over the planned
turns of sessions that say how many they had, without those that are ours; those of a conversation stop together, so
conversations are the observations of its interval.
"""

from collections.abc import Iterator, Mapping, Sequence

from harness.figures.cells import UNSPOKEN, AgentSummary, Failure
from harness.replies.phrases import plain_words
from harness.scenarios.context import Context
from harness.scenarios.pauses import without_pauses
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
