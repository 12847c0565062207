"""Lexical and discourse features of a reply: counts of counselling's micro-skills and of their failures.

Every feature is a rate or a presence, never a length, so that a longer reply gains nothing by being longer. The word
lists name *acts* (advising, minimising, generalising, diagnosing, promising, telling of oneself) and not topics. They are
weak alone, and on held-out pairs a keyword judge is at chance; with the likelihoods beside them they are not.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib import resources

from harness.judging.rubric import spoken_words
from harness.scenarios.context import Turn

_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)*")
_SENTENCE = re.compile(r"[^.!?…]+[.!?…]*")

_LISTS = tomllib.loads((resources.files("harness.judging") / "data" / "acts.toml").read_text(encoding="utf-8"))
STOPWORDS: frozenset[str] = frozenset(_LISTS["stopwords"].split())
PATTERNS: dict[str, str] = {act: "".join(parts) for act, parts in _LISTS["acts"].items()}
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_LATINATE = re.compile(
    r"\b\w{3,}(tion|tions|sion|ment|ments|ance|ence|ity|ive|ate|ated|ating|ical|ious|ional|ise|ize|ised|ized)\b"
)
_WANTS_ADVICE = re.compile(
    r"\b(what (do|should|would|can) i (do|say|tell|write|put|wear|bring)|how (do|should|can|would) i\b|should i\b|"
    r"tell me (what|how|one)|(just )?(one|any) (thing|idea|tip)\b|what would you do|i need to know (what|how)|any advice|"
    r"do you think i should)"
)
_REFUSES_ADVICE = re.compile(
    r"\b(don't (give|offer|want|need) (me )?(any )?(more )?(advice|tips|solutions|ideas|fixing)|"
    r"no (more )?(advice|tips|suggestions)|not asking (you )?(for|to fix)|stop (telling|giving) me|"
    r"don't tell me (to|what|how)|don't fix|just (want|need) (somebody|someone) to (listen|know|hear))"
)
_ADVICE = re.compile(
    r"\b(you could|you might|could you|would it help|let's|try\b|one thing|something like|consider|"
    r"have you (tried|looked|thought)|it (might|could|would|can) help|might help|you should|you need to|make (a|an)\b|"
    r"put (a|the)\b|get up|write|start (with|by))"
)
_CONTRACTION = re.compile(r"\b\w+['’](s|re|ve|ll|d|m|t)\b")
SATURATE = 3
"""A pattern found more often than this counts no more: a fifth platitude adds nothing to the third."""

FEATURES: tuple[str, ...] = (
    *PATTERNS,
    "overlap_last",
    "overlap_seeker",
    "overlap_share",
    "stem_last",
    "new_content",
    "you_share",
    "i_share",
    "you_opens",
    "contractions",
    "latinate",
    "word_length",
    "commas_per_word",
    "sentence_words",
    "past_tense",
    "quotes_seeker",
    "list_like",
    "repeats_supporter",
    "repeats_itself",
    "same_openings",
    "advice_wanted_and_given",
    "advice_wanted_and_probed",
    "advice_refused_and_given",
)


def words(text: str) -> list[str]:
    """Lower-case words, with their apostrophes."""
    return _WORD.findall(text.lower().replace("’", "'"))


def content_words(text: str) -> list[str]:
    """Words that are not among the commonest."""
    return [w for w in words(text) if w not in STOPWORDS and len(w) > 2]


def discourse_features(turns: Sequence[Turn], reply: str) -> list[float]:
    """The values of `FEATURES` for one reply after `turns`."""
    lowered = reply.lower().replace("’", "'")
    tokens = words(reply)
    count = max(len(tokens), 1)
    values = [min(len(pattern.findall(lowered)), SATURATE) / SATURATE for pattern in _COMPILED.values()]
    last = set(content_words(spoken_words(turns[-1].text)))
    seeker = set(content_words(" ".join(spoken_words(t.text) for t in turns if t.role == "seeker")))
    supporter = set(content_words(" ".join(t.text for t in turns if t.role == "supporter")))
    content = content_words(reply)
    distinct = set(content)
    stems_last, stems_reply = {_stem(w) for w in last}, {_stem(w) for w in distinct}
    sentences = [s for s in _SENTENCE.findall(reply) if words(s)] or [reply]
    values += [
        min(len(distinct & last), 4) / 4,
        min(len(distinct & seeker), 5) / 5,
        len(distinct & seeker) / max(len(distinct), 1),
        min(len(stems_reply & stems_last), 4) / 4,
        len(distinct - seeker - supporter) / max(len(distinct), 1),
        sum(w.startswith("you") for w in tokens) / count,
        sum(w in ("i", "me", "my", "mine", "myself") or w.startswith("i'") for w in tokens) / count,
        sum(words(s)[0].startswith("you") for s in sentences if words(s)) / len(sentences),
        len(_CONTRACTION.findall(lowered)) / count,
        len(_LATINATE.findall(lowered)) / count,
        sum(map(len, tokens)) / count / 5,
        min(reply.count(",") / count, 0.25) * 4,
        min(count / len(sentences), 25) / 25,
        sum(w.endswith("ed") for w in tokens) / count,
        float(_longest_shared_run(words(spoken_words(turns[-1].text)), tokens) >= 3),
        float(any(s.count(",") >= 3 for s in sentences)),
        len(distinct & (supporter - seeker)) / max(len(distinct), 1),
        _repeated_share(tokens),
        _same_openings(sentences),
        *_advice(spoken_words(turns[-1].text), lowered, bool(_COMPILED["suggestion_probe"].search(lowered))),
    ]
    return values


def _repeated_share(tokens: Sequence[str]) -> float:
    """Share of runs of three words that occur in the reply a second time: small language models go round in circles."""
    runs = [tuple(tokens[n : n + 3]) for n in range(len(tokens) - 2)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def _same_openings(sentences: Sequence[str]) -> float:
    """Share of its sentences that begin with the same two words as another one ("I'm here … I'm here …")."""
    openings = [tuple(words(s)[:2]) for s in sentences]
    return 1 - len(set(openings)) / len(openings)


def _advice(last: str, reply: str, probed: bool) -> tuple[float, float, float]:
    """Features of advice: it helps a seeker who asked for it and hurts one who did not, so it cannot be counted alone."""
    asked = last.lower().replace("’", "'")
    refuses = bool(_REFUSES_ADVICE.search(asked))
    wants = bool(_WANTS_ADVICE.search(asked)) and not refuses
    gives = bool(_ADVICE.search(reply))
    return float(wants and gives), float(wants and probed and not gives), float(refuses and gives)


def _stem(word: str) -> str:
    """Beginning of a word, long enough to match its inflections; a real stemmer added nothing measurable."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _longest_shared_run(one: Sequence[str], other: Sequence[str]) -> int:
    best = 0
    lengths = [0] * (len(other) + 1)
    for a in one:
        previous = 0
        for j, b in enumerate(other, start=1):
            lengths[j], previous = (previous + 1 if a == b else 0), lengths[j]
            best = max(best, lengths[j])
    return best
