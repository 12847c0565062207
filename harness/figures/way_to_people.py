"""The way from a run to people's answer: the votes that it takes, the minutes for them, and the command.

The question is which of the agents people prefer, so the votes are those after which each two agents are apart; a rating takes
more of them and is named after it. A run of one agent has no such question: its votes are those of a rating among references.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Final

from harness.ranking.draw_pairs import REFERENCE_EVERY
from harness.ranking.votes_needed import HALF_WIDTH_ELO, half_width_elo, minutes, votes_needed, votes_to_tell_apart
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.wording import command, counted

MOST_VOTES: Final = 60
"""Votes that are proposed where no number gives ± `HALF_WIDTH_ELO`: half an hour of reading."""
UNLIKE: Final = 0.8
"""Share of conversations in which people prefer one of two agents that are unlike, and yet not as day and night."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Replies that can be compared. `agents` and `every`: number of replies to each context that has any, agents' and all."""

    agents: Collection[int]
    every: Collection[int]
    competing: int
    """Agents."""
    systems: int
    """Agents and references."""

    @property
    def conversations(self) -> int:
        """Conversations with two replies to compare: two agents' where several compete."""
        return sum(n > 1 for n in (self.agents if self.competing > 1 else self.every))

    @property
    def pairs(self) -> int:
        """Pairs of replies."""
        return sum(comb(n, 2) for n in self.every)


@dataclass(frozen=True, slots=True)
class VotesAsked:
    """Votes that a person is asked for."""

    votes: tuple[int, ...]
    """The fewest that can give an answer, and more; none where these conversations can give none."""
    conversations: int
    """Conversations that an answer takes."""
    what: str
    """The answer, with the votes that it takes in braces."""

    def in_words(self, words: float, sound_s: float = 0.0) -> str:
        """The votes, their minutes and what they give; arguments as of `minutes`."""
        first, *more = self.votes
        took = counted(minutes(first, words=words, sound_s=sound_s), "minute")
        return self.what.format(f"{counted(first, 'vote')}, about {took},", *more)


def votes_asked(sides: Sides) -> VotesAsked:
    """The votes that answer the question of these replies."""
    have, agents, systems = sides.conversations, sides.competing, sides.systems
    if agents < 2:
        votes = min(votes_needed(systems, have) or MOST_VOTES, sides.pairs)
        wide = max(half_width_elo(systems, have, votes), HALF_WIDTH_ELO)
        what = f"{{}} give ratings within ± {wide:.0f} Elo"
        return VotesAsked((votes,) if have >= FEWEST_CLUSTERS else (), FEWEST_CLUSTERS, what)
    references = systems > agents
    whole, unlike = (votes_to_tell_apart(share, agents=agents, references=references) or 0 for share in (1.0, UNLIKE))
    fewest, many = (
        (votes_to_tell_apart(share, agents=agents, references=False) or 0) // comb(agents, 2) for share in (1.0, UNLIKE)
    )
    which = "the two" if agents == 2 else "each two"
    what = f"{{}} say which of {which} is preferred if people agree; "
    if have < fewest:
        return VotesAsked((), fewest, what)
    if have < many:
        return VotesAsked((whole,), fewest, f"{what}if four of five do, it takes {many} conversations")
    return VotesAsked((whole, unlike), fewest, f"{what}{{}} if four of five do")


def way_to_people(run: Path, sides: Sides, words: float, *, given: int = 0, answered: bool = False, rated: bool = False) -> str:
    """The way from a run to people's answer, in one sentence: the command, the votes and their minutes; empty where nothing is
    left to ask.

    `words`: of one vote, the caller's last turn and two replies. `given`: votes on two agents. `answered`: these say which is
    preferred. `rated`: people's votes give a rating.
    """
    if rated and answered:
        return ""
    if sides.systems < 2:
        return "People's answer needs two replies to compare: play another agent, or a pack with reference replies."
    asked = votes_asked(sides)
    if not asked.votes:
        return (
            f"People's answer needs {asked.conversations} conversations with two replies to compare, and this run has "
            f"{counted(sides.conversations, 'such conversation')}."
        )
    how = f"Vote on the page, or run {command('listen', run)}"
    of_preference = "" if answered or (rated and sides.competing < 2) else asked.in_words(words)
    so_far = f"{counted(given, 'vote')} on them {'is' if given == 1 else 'are'} given" if given and not answered else ""
    parts = (of_preference, so_far, "" if rated else _of_a_rating(sides))
    return f"{how}: {'; '.join(part for part in parts if part)}." if any(parts) else ""


def _of_a_rating(sides: Sides) -> str:
    """The votes that a rating takes among agents, in words; empty where there can be none."""
    agents, have = sides.competing, sides.conversations
    if have < FEWEST_CLUSTERS or agents < 2:
        return ""
    among = min(votes_needed(agents, have) or MOST_VOTES, have * comb(agents, 2))
    wide = max(half_width_elo(agents, have, among), HALF_WIDTH_ELO)
    votes = -(-among * REFERENCE_EVERY // (REFERENCE_EVERY - 1)) if sides.systems > agents else among
    return f"a rating within ± {wide:.0f} Elo takes {votes}"


def way_to_people_together(runs: Sequence[str], contexts: int) -> str:
    """The way to people's axis of several runs, in one sentence. `runs`: names of those whose people have not read and voted.

    How many votes that takes depends on how those of the runs meet over reference replies, so no number is promised.
    """
    if contexts < FEWEST_CLUSTERS:
        return (
            f"People's ratings need {FEWEST_CLUSTERS} conversations, and these runs have {counted(contexts, 'conversation')}."
        )
    pages = f"the page of {runs[0]}" if len(runs) == 1 else f"the pages of {', '.join(runs[:-1])} and {runs[-1]}"
    return (
        f"For people's own ratings vote on {pages} on replies to read, or run {command('listen', 'RUN', '--medium', 'text')}: "
        "reference replies connect the runs, and have no sound."
    )
