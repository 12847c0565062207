"""What the page says in words, and what it never says."""

from dataclasses import replace

import pytest
from markupsafe import escape

from harness.figures.cautions import Caution, gravest_first, worded
from harness.figures.quality_state import QUOTED
from harness.ranking.board import QualityState
from harness.reports.assemble import preferences
from harness.reports.board import board, method_words
from harness.reports.cautions_shown import EVERY, cautions, merged, placed
from harness.reports.conditions import conditions
from harness.reports.html import render
from harness.reports.markdown import markdown, plain
from harness.reports.payload import conversation
from harness.reports.tables import tables
from harness.reports.verdict import fast, the_bar, verdicts
from harness.reports.view import NOT_JOINT, Estimate, PageView, Preference, RatingView
from harness.reports.wording import latency_interval
from harness.store.judgment import Judgment, RedLinesCheck, ShareOfPairs
from harness.store.judgment_table import table_of
from harness.wording import milliseconds
from tests.reports.invented import in_state, invented_view, of_an_invalid_run, quantiles


@pytest.fixture
def view() -> PageView:
    return invented_view(agents=3, contexts=9)


def test_the_page_shows_the_runs_cautions_as_they_are_and_what_its_runs_differ_in(view: PageView) -> None:
    several = replace(view, differences=(("Machine", "one: small; two: big."), (NOT_JOINT, "No verdict connects them.")))
    assert set(view.cautions) < set(cautions(several))
    assert {c.code for c in cautions(several)} - {c.code for c in view.cautions} == {"runs_differ", "not_joint"}
    order = [c.level for c in cautions(several)]
    assert order == sorted(order, key=["bad", "warn", "note"].index)


def test_a_run_without_people_says_so_and_one_with_people_does_not(view: PageView) -> None:
    people = tuple(replace(r, author="human:7") for r in view.references)
    assert "none on this board" in conditions(view)
    assert "careful (human:7)" in conditions(replace(view, references=people))


def test_an_uncalibrated_run_never_claims_an_error(view: PageView) -> None:
    bare = replace(view, onset_error=None)
    assert all("not calibrated" in verdict.text for verdict in verdicts(bare))


def test_a_verdict_names_budget_band_cut_ins_error_and_judge(view: PageView) -> None:
    first = verdicts(view)[0]
    assert first.fast.answer == "yes"
    for words in (
        "within the 500 ms budget",
        "Elo ",
        "cuts in on",
        "measured to within 6.2 ms (95 % of 64 trials)",
        "judge accuracy 58 % on our own pairs (not validated against people)",
    ):
        assert words in first.text


def test_a_page_without_an_elo_speaks_of_a_joint_one_only_where_runs_have_none_in_common(view: PageView) -> None:
    bare = replace(view, elo_method="")
    assert method_words(bare) == "There is no Elo; the sentence above the answers says why."
    assert method_words(replace(bare, differences=((NOT_JOINT, "No verdict connects them."),))) == "There is no joint Elo."
    assert "nothing was judged" in method_words(replace(bare, contexts=()))


def test_a_judge_that_crosses_red_lines_is_named_before_its_board(view: PageView) -> None:
    wrong = RedLinesCheck(sha256="0" * 64, whole=None, by_family={"harm": ShareOfPairs(pairs=36, right=0.5)})
    page = render(replace(view, judges=tuple(judge.model_copy(update={"red_lines": wrong}) for judge in view.judges)))
    systems = page[page.index('<section id="systems"') :]
    assert 0 < systems.index("encourages harm") < systems.index("<table")


def test_a_verdict_of_people_alone_misses_no_judge(view: PageView) -> None:
    nobody = tuple(replace(c, judgments=tuple(row for row in c.judgments if row.human)) for c in view.contexts)
    alone = in_state(replace(view, judges=(), contexts=nobody), "people")
    assert not any("judge" in verdict.text for verdict in verdicts(alone))
    assert all("judge accuracy not measured" in verdict.text for verdict in verdicts(replace(view, judges=())))


@pytest.mark.parametrize(("low_ms", "answer"), [(2_100.0, "no"), (480.0, "unclear"), (None, "unclear")])
def test_a_median_without_reply_is_over_budget_where_its_bound_is_and_printed_as_a_limit(
    view: PageView, low_ms: float | None, answer: str
) -> None:
    agent = view.agents[0]
    silent = quantiles(Estimate(None, low_ms, None))
    part = replace(agent.whole, cell=agent.whole.cell.model_copy(update={"ttfa_ms": silent}))
    changed = replace(view, agents=(replace(agent, slices={**agent.slices, "all": part}),))
    found = verdicts(changed)[0].fast
    assert (found.answer, found.figure) == (answer, "> 15 s")
    assert found.interval == {2_100.0: "≥ 2.10 s", 480.0: "≥ 480 ms", None: "too few conversations for an interval"}[low_ms]


def test_an_invalid_run_answers_nothing_and_says_so_beside_each_figure(view: PageView) -> None:
    first, *others = view.agents
    agents = (of_an_invalid_run(first), *others)
    unsound = replace(view, valid=False, invalid_reasons=("frames left late",), agents=agents)
    found = {v.agent: v for v in verdicts(unsound)}
    for half in (found[first.name].fast, found[first.name].kind):
        assert half.answer == "unclear"
        assert "INVALID RUN" in half.interval
    assert found[others[0].name].fast == {v.agent: v for v in verdicts(view)}[others[0].name].fast, "of a sound run beside it"
    rows = {row.name: row for row in board(unsound)}
    shown = [cell for cell in rows[first.name].cells if cell.text != "—"]
    assert len(shown) > 5
    assert all(cell.small.startswith("INVALID") and cell.tone == "bad" for cell in shown)
    assert not any("INVALID" in cell.small for cell in rows[others[0].name].cells)
    assert {row["valid"] for row in tables(unsound)["systems"] if row["system"] == first.name} == {False}
    page = render(unsound)
    top = page[: page.index("<main")]
    assert "INVALID RUN" in top, "before anything else, and behind no fold"
    assert "frames left late" in top
    assert "INVALID RUN" not in render(view)


def test_an_elo_without_a_bound_is_no_reason_to_call_it_unjudged(view: PageView) -> None:
    agent = view.agents[0]
    rating = RatingView(win_rate=0.7, judgments=12, over={"ref:good": Estimate()})
    little = replace(agent, slices={**agent.slices, "all": replace(agent.whole, rating=rating)})
    verdict = verdicts(replace(view, agents=(little,)))[0]
    assert verdict.kind.answer != "yes"
    assert verdict.kind.answer != "no"
    assert "too few conversations for an Elo" in verdict.text
    assert "too few conversations to rate it" in verdict.sentence
    assert "nobody judged" not in verdict.sentence


def test_an_agent_without_a_rating_is_called_unrated_not_average(view: PageView) -> None:
    agent = view.agents[0]
    bare = replace(agent, slices={**agent.slices, "all": replace(agent.whole, rating=RatingView())})
    verdict = verdicts(replace(view, agents=(bare,)))[0]
    assert "not rated" in verdict.text
    assert verdict.kind.answer == "not rated"
    assert "nobody rated its replies" in verdict.sentence


@pytest.mark.parametrize(
    ("value", "words"), [(None, "—"), (0.4, "0 ms"), (474.4, "474 ms"), (1_102.0, "1.10 s"), (-80.0, "−80 ms")]
)
def test_milliseconds(value: float | None, words: str) -> None:
    assert milliseconds(value) == words


def test_an_interval_shares_its_unit_where_it_can() -> None:
    assert latency_interval(Estimate(1, 400, 460)) == "400–460 ms"
    assert latency_interval(Estimate(1, 900, 1_050)) == "900 ms – 1.05 s"
    assert latency_interval(Estimate(1)) == ""


def test_openings_that_are_all_alike_stand_beside_the_latency_that_they_buy(view: PageView) -> None:
    agents = (replace(view.agents[0], common_opening=(7, 9)), *view.agents[1:])
    opened = replace(view, agents=agents)
    notes = {row.name: row.note for row in board(opened)}
    assert "7 of 9 replies open with the same three words" in notes[agents[0].name]
    assert "same three words" not in notes[agents[1].name]
    exported = {row["system"]: row for row in tables(opened)["systems"] if row.get("subset") == "all"}
    assert exported[agents[0].name]["replies_opening_alike"] == 7


def test_faults_of_replies_are_counted_beside_the_agent_that_shows_them(view: PageView) -> None:
    agents = (replace(view.agents[0], common_opening=(1, 9), flags={"repetition": 3, "echo": 0}), *view.agents[1:])
    flagged = replace(view, agents=agents)
    notes = {row.name: row.note for row in board(flagged)}
    assert "replies that repeat themselves or an earlier reply: 3" in notes[agents[0].name]
    assert "hand the caller's words back" not in notes[agents[0].name]
    exported = {row["system"]: row for row in tables(flagged)["systems"] if row.get("subset") == "all"}
    assert exported[agents[0].name]["replies_repetition"] == 3
    assert exported[agents[0].name]["replies_echo"] == 0


def test_a_replay_shows_what_was_really_said(view: PageView) -> None:
    context = view.contexts[0]
    turn = replace(context.sessions[0], mode="replay", replayed=(("seeker", "Hi <b>there</b>"), ("supporter", "Hello.")))
    shown = conversation(replace(context, sessions=(turn, *context.sessions[1:])), view)
    assert shown["turns"][0]["replayed"] == [["seeker", "Hi <b>there</b>"], ["supporter", "Hello."]]
    assert shown["turns"][1]["replayed"] == []


def _rated(view: PageView, value: float, low: float, high: float, **more: object) -> PageView:
    agent = view.agents[0]
    rating = replace(agent.whole.rating, over={"ref:careful": Estimate(value, low, high), "ref:hasty": Estimate(90, 40, 140)})
    changed = replace(agent, slices={**agent.slices, "all": replace(agent.whole, rating=rating)}, **more)  # type: ignore[arg-type]
    return replace(view, agents=(changed,))


@pytest.mark.parametrize(
    ("difference", "answer", "place"),
    [((60, 20, 100), "yes", "above"), ((-60, -100, -20), "no", "below"), ((5, -40, 50), "unclear", "not clearly apart from")],
)
def test_kind_is_decided_on_the_interval_against_the_bar(
    view: PageView, difference: tuple[float, float, float], answer: str, place: str
) -> None:
    for state in QUOTED:
        verdict = verdicts(in_state(_rated(view, *difference), state))[0]
        assert verdict.kind.answer == answer
    assert f"rated {place} “careful”{' and' if place == 'above' else ', above'} “hasty”" in verdict.sentence


def test_an_opinion_gives_no_verdict_no_place_and_no_chance(view: PageView) -> None:
    verdict = verdicts(in_state(_rated(view, 60, 20, 100), "opinion"))[0]
    assert (verdict.kind.answer, verdict.kind.figure) == ("no verdict", "a judge's opinion")
    assert "rated" not in verdict.sentence
    assert "preferred" not in verdict.sentence
    assert "the chance" not in verdict.sentence
    assert "the chance that it is the best rated" in verdicts(view)[0].sentence


def test_the_board_and_the_summary_say_whose_quality_it_is(view: PageView) -> None:
    words_of: dict[QualityState, str] = {
        "people": "Elo (people's)", "opinion": "Elo (a judge's opinion, which has no frontier)"
    }  # fmt: skip
    for state, words in words_of.items():
        seen = in_state(view, state)
        assert method_words(seen).startswith(words)
        rated = [row.cells[0] for row in board(seen) if row.cells[0].value is not None]
        assert {(cell.tone, cell.small.endswith("opinion")) for cell in rated} == {
            ("opinion", True) if state == "opinion" else ("", False)
        }
        assert plain(seen.quality[0]) in markdown(seen)


def test_references_in_the_same_place_are_named_together(view: PageView) -> None:
    assert "rated above “careful” and “hasty”;" in verdicts(_rated(view, 60, 20, 100))[0].sentence


def test_a_persons_reply_is_the_bar_where_one_competes(view: PageView) -> None:
    first, second = view.references
    people = replace(view, references=(first, replace(second, author="human:7")))
    bar = the_bar(people.agents[0], people)
    assert bar is not None
    assert bar.system == "ref:hasty"


def test_fast_is_unclear_where_the_interval_holds_the_budget_or_there_is_none(view: PageView) -> None:
    agent = view.agents[0]

    def answer(p50: Estimate) -> str:
        part = replace(agent.whole, cell=agent.whole.cell.model_copy(update={"ttfa_ms": quantiles(p50)}))
        return fast(replace(agent, slices={**agent.slices, "all": part}), view).answer

    assert answer(Estimate(480, 440, 520)) == "unclear"
    assert answer(Estimate(200)) == "unclear"
    assert answer(Estimate(480, 460, 500)) == "yes"
    assert answer(Estimate(540, 510, 580)) == "no"


def test_cautions_of_one_topic_are_one_and_the_line_counts_them(view: PageView) -> None:
    more = [Caution(code="ranking", level="warn", topic="Ranking", text=text) for text in ("one", "two", "two")]
    found = merged(gravest_first([*view.cautions, *more]))
    (ranking,) = (m for m in found if m.topic == "Ranking")
    assert ranking.texts == ("one", "two")
    assert [m.level for m in found] == sorted((m.level for m in found), key=["bad", "warn", "note"].index)


def test_a_caution_is_where_its_figure_is_and_nowhere_twice(view: PageView) -> None:
    """What changes how a figure is read is beside it; what is only to be known is at the end; what the page says anyway is not
    repeated."""
    codes = ("invalid", "no_reply", "weak_judge", "failed", "few_conversations", "machines", "not_judged")
    found = [worded(code, *range(5)) for code in codes]
    shown = placed(gravest_first(found), judged=True)
    assert [(column, m.topic) for column, m in shown.figures] == [
        (EVERY, "Failed sessions"), ("Fast", "No reply"), ("Kind", "Weak judge"), ("Kind", "Not judged"),
    ]  # fmt: skip
    assert [m.topic for m in shown.rest] == ["Machines"]
    assert "Not judged" not in [m.topic for _, m in placed(found, judged=False).figures]
    page = render(view)
    for caution in view.cautions:
        assert page.count(str(escape(caution.text))) == (caution.code != "measurement_error"), caution.topic


def test_how_often_an_agent_was_preferred_counts_people_apart() -> None:
    def row(context: int, winner: str, source: str) -> Judgment:
        return Judgment.model_validate({
            "context": f"c-{context}", "subset": "regular", "system_a": "ref:good", "system_b": "mine", "source": source,
            "judge": source, "winner": winner, "strength": 1, "presentation": "heard_text",
        })  # fmt: skip

    rows = [row(n, "b", "judge") for n in range(8)] + [row(n, "a", "human") for n in range(8)] + [row(9, "tie", "human")]
    found = preferences("mine", [table_of(rows)])["ref:good"]
    assert (found.verdicts, found.votes) == (8, 9), "each row once"
    assert found.share.value == 1.0
    assert found.of_people.value == pytest.approx(0.5 / 9)
    assert found.of_people.low is not None
    assert found.of_people.low >= 0
    (alone,) = preferences("mine", [table_of([row(n, "a", "human") for n in range(8)])]).values()
    assert (alone.verdicts, alone.share.value, alone.votes) == (0, None, 8)


def test_votes_of_people_alone_are_said_without_verdicts(view: PageView) -> None:
    liked = {"ref:careful": Preference(of_people=Estimate(0.75, 0.6, 0.85), votes=24)}
    sentence = verdicts(_rated(view, -60, -100, -20, against=liked))[0].sentence
    assert "preferred to “careful” in 75 % of 24 votes by people" in sentence
    assert "verdict" not in sentence
