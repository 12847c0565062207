"""The caller's turns, from who sounds when."""

import pytest

from harness.audio.recorded_turns import BACKCHANNEL_S, LONGEST_PAUSE_S
from harness.calls.caller_turns import OVERLAP_S, CallerTurn, caller_turns


def kinds(found: tuple[CallerTurn, ...]) -> list[str]:
    return [turn.kind for turn in found]


def test_a_turn_ends_where_the_agent_answers() -> None:
    found = caller_turns([(0.0, 1.0), (1.4, 2.0), (6.0, 7.0)], [(2.5, 5.0)])
    assert found == (CallerTurn("turn", ((0.0, 1.0), (1.4, 2.0))), CallerTurn("turn", ((6.0, 7.0),)))


def test_a_long_silence_ends_a_turn_and_a_shorter_one_is_a_pause() -> None:
    assert len(caller_turns([(0.0, 1.0), (1.0 + LONGEST_PAUSE_S, 8.0)], [])) == 1
    assert len(caller_turns([(0.0, 1.0), (1.1 + LONGEST_PAUSE_S, 8.0)], [])) == 2


def test_a_caller_who_speaks_on_at_once_was_not_done() -> None:
    (turn,) = caller_turns([(0.0, 1.0), (2.4, 4.0)], [(1.5, 5.0)])
    assert len(turn.spans) == 2
    later = caller_turns([(0.0, 1.0), (2.6, 4.0)], [(1.5, 5.0)])
    assert kinds(later) == ["turn", "barge_in"]


@pytest.mark.parametrize(
    ("again_s", "agent", "turns"),
    [
        (3.0, [(1.5, 1.8), (2.4, 5.0)], 2),  # 1.5 s after the agent's first sound, though 0.6 s after its next
        (1.8, [(0.5, 5.0)], 1),  # an agent that cut in is heard from the end of the caller's words
        (2.5, [(0.2, 0.6)], 1),  # an agent that was silent again before that end has answered nothing
    ],
)
def test_the_second_counts_from_what_the_caller_could_hear(
    again_s: float, agent: list[tuple[float, float]], turns: int
) -> None:
    found = caller_turns([(0.0, 1.0), (again_s, 4.0)], agent)
    assert len(found[0].spans) == 3 - turns


def test_interruptions_are_no_turn_together() -> None:
    found = caller_turns([(0.0, 1.0), (4.0, 5.0), (5.4, 7.0)], [(1.5, 6.0)])
    assert kinds(found) == ["turn", "barge_in", "barge_in", "turn"]


def test_what_ends_within_the_agents_speech_or_right_after_it_is_no_turn() -> None:
    assert kinds(caller_turns([(0.0, 1.0), (4.0, 4.15)], [(1.5, 4.2)])) == ["turn"]
    assert caller_turns([(0.0, 1.0), (4.0, 5.0)], [(1.5, 4.6)])[1:] == (CallerTurn("barge_in", ((4.0, 5.0),)),)


def test_an_interruption_goes_on_into_a_turn_of_its_own() -> None:
    found = caller_turns([(0.0, 1.0), (4.0, 7.0)], [(1.5, 4.6), (8.0, 9.0)])
    assert found[1:] == (CallerTurn("barge_in", ((4.0, 4.6),)), CallerTurn("turn", ((4.6, 7.0),)))


def test_a_short_sound_in_the_agents_speech_is_no_turn() -> None:
    assert kinds(caller_turns([(0.0, 1.0), (4.0, 4.0 + BACKCHANNEL_S - 0.1)], [(1.5, 6.0)])) == ["turn"]


def test_the_overlap_of_quick_speakers_interrupts_nobody() -> None:
    found = caller_turns([(0.0, 1.0), (4.0, 6.0)], [(1.5, 4.0 + OVERLAP_S - 0.1)])
    assert kinds(found) == ["turn", "turn"]
    assert found[1].spans == ((4.0 + OVERLAP_S - 0.1, 6.0),)


@pytest.mark.parametrize("agent", [[], [(1.2, 2.0)], [(0.5, 9.0)]])
def test_turns_are_in_order_and_apart(agent: list[tuple[float, float]]) -> None:
    found = caller_turns([(0.1, 1.0), (2.5, 3.0), (3.3, 5.0), (8.8, 12.0)], agent)
    edges = [edge for turn in found for span in turn.spans for edge in span]
    assert edges == sorted(edges)
    assert found
