"""The measurement of a judge that is tuned: what it says of a judge that counts words, and of one that reads."""

from benchmarks.judging_reader.made import with_faults
from benchmarks.judging_reader.material import Group, Reply, mended
from benchmarks.judging_reader.measure import figures, pairs

SHORT, LONG = (
    "That is hard to carry.",
    "That is hard to carry on your own for so many months, and nobody asked you how you were.",
)


def groups(count: int) -> list[Group]:
    """Conversations in which the longer reply is the better one as often as not, and one pair of equal length each."""
    found = []
    for n in range(count):
        worth = (1.0, 0.0) if n % 2 else (0.0, 1.0)
        replies = (Reply(LONG, worth[0]), Reply(SHORT, worth[1]), Reply("This is hard to carry.", 1 - worth[1]))
        found.append(Group("made", f"c{n}", ("S: I have not slept since she left.",), replies))
    return found


def test_a_judge_that_counts_words_has_no_difference_from_counting_words() -> None:
    asked = groups(12)
    found = figures(asked, [[float(reply.words) for reply in group.replies] for group in asked])
    assert found["difference"] == 0
    assert found["equal"] == 0.5


def test_a_judge_that_reads_is_right_at_equal_length_and_above_counting_words() -> None:
    asked = groups(12)
    found = figures(asked, [[reply.worth for reply in group.replies] for group in asked])
    assert found["equal"] == found["right"] == 1.0
    assert isinstance(found["difference"], float)
    assert found["difference"] > 0.2
    assert isinstance(found["difference_interval"], tuple)
    assert found["difference_interval"][0] > 0


def test_replies_within_a_fifth_of_each_others_words_are_of_equal_length() -> None:
    group = Group(
        "made", "c", ("S: Hello.",), (Reply("a b c d e f g h i j", 1.0), Reply("a b c d e f g h", 0.0), Reply("a b c", 0.5))
    )
    assert [pair.equal for pair in pairs(group, 1.0)] == [True]
    assert [pair.equal for pair in pairs(group, 0.5)] == [True, False, False]


def test_a_fault_made_by_program_is_never_the_better_reply_for_being_longer() -> None:
    (group,) = groups(1)
    others = [group, *(Group("made", f"o{n}", group.turns, (Reply(f"You were kind to number {n}.", 1.0),)) for n in range(3))]
    for seed in range(5):
        faulty = with_faults(others, seed)[0].replies[len(group.replies) :]
        assert faulty
        assert all(reply.kind and reply.worth < 0.8 for reply in faulty)


def test_the_spaces_of_a_tokeniser_are_taken_out() -> None:
    assert mended("i ' m so sorry to hear that . it doesn ' t help !") == "i'm so sorry to hear that. it doesn't help!"
