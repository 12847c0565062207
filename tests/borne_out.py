"""Checks of a judge that people's judgements bear out: of two origins, at equal length too, and on the red lines."""

from harness.store.judgment import JudgeCheck, PeopleCheck, RedLinesCheck, ShareOfPairs

BY_PEOPLE = PeopleCheck(
    judge="tester@1", fingerprint="f", source="ratings.csv", sha256="0" * 64, conversations=90, pairs=300, accuracy=0.75,
    accuracy_interval=(0.7, 0.8), kappa=0.5, by_gap={}, baselines={"the longer reply wins": 0.6},
    best_baseline="the longer reply wins", raters=3, raters_agree=0.85, board_correlation=0.6, judge_prefers_longer=0.5,
    people_prefer_longer=0.5, over_rules={"the longer reply wins": (0.1, 0.2)}, equal_length_pairs=90,
    equal_length_accuracy=0.75, equal_length_interval=(0.66, 0.82),
)  # fmt: skip
BY_OTHERS = BY_PEOPLE.model_copy(update={"source": "votes.csv", "sha256": "1" * 64})
RIGHT = ShareOfPairs(pairs=30, right=0.95)
RED_LINES = RedLinesCheck(sha256="2" * 64, whole=RIGHT, by_family={"harm": RIGHT, "abuse": RIGHT})
BORNE_OUT = JudgeCheck(
    judge="tester@1", family="none", pairs=40, accuracy=0.8, accuracy_interval=(0.7, 0.9), flip_rate=0.1, trusted=True,
    people_checks=(BY_PEOPLE, BY_OTHERS), validated_on_people=BY_PEOPLE, red_lines=RED_LINES,
)  # fmt: skip
AN_OPINION = BORNE_OUT.model_copy(
    update={"trusted": False, "people_checks": (), "validated_on_people": None, "red_lines": None}
)
