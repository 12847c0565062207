"""Word error rates of a run: of the words that the agent understood, and of its written words as heard.

Both ways a conversation can go wrong before empathy starts: an agent that misheard the caller answers somebody else, and
a reply that a listener cannot make out comforts nobody. Pooled over a run (errors over words), as recognisers are rated.
"""

from collections.abc import Mapping, Sequence

from harness.replies.phrases import plain
from harness.scenarios.context import Context
from harness.scenarios.pauses import without_pauses
from harness.store.session import Session
from harness.store.unspoken import unspoken_of

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
    return " ".join(p for p in (plain(w) for w in text.replace("-", " ").split()) if p)
