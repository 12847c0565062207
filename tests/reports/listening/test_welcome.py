"""The consent page says what this test asks for, and how long it takes."""

import html
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from harness.figures.summary import RunSummary
from harness.reports.listening.answers import Answer
from harness.reports.listening.design import Delays, ListeningDesign
from harness.reports.listening.length import FEWEST_ANSWERS, SessionLength, session_length
from harness.reports.listening.material import Material, seconds
from harness.reports.listening.plan import Item, deal
from harness.reports.listening.serve import prepare
from harness.reports.listening.welcome import duration, equipment, welcome_page
from harness.store.run_store import RunStore
from harness.study.study import Study
from harness.study.texts import texts
from tests.reports.listening.conftest import Served
from tests.reports.test_page_for_everybody import grave_faults

Played = Callable[..., tuple[RunStore, RunSummary]]
DESIGNS = [
    ListeningDesign.model_validate({"kind": kind, "medium": medium, "delays": delays, "items": 6})
    for kind, medium, delays in product(("ab", "acr"), ("sound", "text"), get_args(Delays))
]


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)).split())


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: f"{d.kind}-{d.medium}-{d.delays}")
def test_every_sentence_of_the_consent_page_is_true_of_the_design(design: ListeningDesign) -> None:
    raw = (Path(__file__).parents[3] / "reports" / "listening" / "pages" / "listen.html").read_text(encoding="utf-8")
    said = words(welcome_page(raw, design, SessionLength(9, 1, (12, 19)), Study()))
    heard = design.medium == "sound"
    assert "{" not in said
    assert ("You will hear people" in said) == heard
    assert ("You will read people" in said) == (not heard)
    assert ("headphones that work on both sides" in said) == heard
    assert ("you need no headphones" in said) == (not heard)
    assert ("3 short trials" in said) == heard
    assert ("two replies to each" in said) == (design.kind == "ab")
    assert ("from 1 to 5" in said) == (design.kind == "acr")
    assert ("how natural the voice sounds" in said) == (design.kind == "acr" and heard)
    assert ("some after a wait" in said) == (heard and design.delays != "without")
    assert ("each conversation twice" in said) == (heard and design.delays == "both")
    assert ("9 pairs of replies, after 1 for practice" in said) == (design.kind == "ab")
    assert ("9 replies, after 1 for practice" in said) == (design.kind == "acr")
    assert "12 to 19 minutes" in said
    assert "break" not in said, "nine questions have none after every ten"


def test_headphones_are_tried_only_where_the_design_has_trials() -> None:
    said = equipment(ListeningDesign(headphone_trials=0), texts())
    assert "please use headphones" in said
    assert "trial" not in said


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (SessionLength(1, 0, (1, 1)), "There is 1 pair of replies. It takes about 1 minute;"),
        (SessionLength(25, 1, (20, 31)), "25 pairs of replies, after 1 for practice, with a break after every 10."),
        (SessionLength(25, 1, (20, 31), 48), "20 to 31 minutes, as it took earlier raters (48 answers);"),
    ],
)
def test_the_amount_and_the_time_are_in_plain_words(length: SessionLength, said: str) -> None:
    assert said in duration(ListeningDesign(), length, texts())


def made(played: Played, unit_s: float, **settings: Any) -> tuple[Material, ListeningDesign]:
    store, _ = played(contexts=9, unit_s=unit_s)
    design = ListeningDesign.model_validate({"items": 6, **settings})
    return prepare(store, design)[1], design


def heard_s(plan: tuple[Item, ...], material: Material) -> float:
    """The sound of the questions of one plan."""
    return sum(
        seconds(material.caller(item.context))
        + sum(seconds(material.stimulus(s.context, s.system, gap_ms=s.gap_ms, degraded=s.degraded)) for s in item.slots)
        for item in plan
        if item.context is not None
    )


def test_the_time_is_at_least_that_of_hearing_everything_once(played: Played) -> None:
    material, design = made(played, 6.0)
    found = session_length(material, design)
    plans = [deal(material.conversations, design, {}, seed) for seed in range(5)]
    once_min = sum(heard_s(plan, material) for plan in plans) / len(plans) / 60
    quick, slow = found.minutes
    assert once_min > 1
    assert once_min <= quick + 1
    assert slow > 2 * once_min
    assert found.answers == 0
    assert found.questions == round(sum(sum(i.role in ("main", "gold", "attention") for i in p) for p in plans) / 5)


def test_both_versions_of_each_item_take_longer_and_are_counted(played: Played) -> None:
    material, once = made(played, 3.0)
    twice = once.model_copy(update={"delays": "both"})
    short, long = session_length(material, once), session_length(material, twice)
    assert long.questions - short.questions >= once.items - 1
    assert long.minutes[1] > short.minutes[1]


def test_text_is_as_long_as_its_words(played: Played) -> None:
    store, _ = played(contexts=9, text="word " * 300)
    design = ListeningDesign(medium="text", items=6)
    long = session_length(prepare(store, design)[1], design)
    # Each question has the caller's last turn and two replies of 300 words, and nobody reads 480 words in a minute.
    assert long.minutes[0] >= long.questions * 900 / 480


def test_earlier_raters_own_times_replace_the_assumptions(played: Played) -> None:
    material, design = made(played, 1.0)
    item = next(i for i in deal(material.conversations, design, {}, 1) if i.role == "main")
    slow = [Answer(f"r{n}", 1, item, {}, None, took_s=600.0, at_s=0.0) for n in range(FEWEST_ANSWERS)]
    assert session_length(material, design, slow[:-1]) == session_length(material, design)
    found = session_length(material, design, slow)
    assert found.answers == FEWEST_ANSWERS
    assert found.minutes[0] >= found.questions * 10


@pytest.mark.parametrize(("settings", "width"), [({"kind": "acr", "delays": "both"}, 390), ({"medium": "text"}, 1_280)])
def test_a_browser_shows_it_and_axe_finds_nothing_serious(
    serve: Callable[..., Served], open_page: Callable[..., Any], settings: dict[str, str], width: int
) -> None:
    served = serve(**settings)
    page = open_page(served.address, width=width)
    heading = "How good is each reply?" if settings.get("kind") == "acr" else "Which reply would help more?"
    page.get_by_role("heading", name=heading).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not grave_faults(page)
    assert re.search(r"It takes (about )?\d+ (to \d+ )?minute", page.locator("#welcome").inner_text())
