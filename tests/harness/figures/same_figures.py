"""Figures of drawn turns, sessions and runs: `python -m tests.harness.figures.same_figures` writes the file anew.

A stored run is read to the same figures for ever. A change that moves any of these is another figure: say so in the CHANGELOG.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any, Final, get_args

from pydantic_core import to_jsonable_python

from harness.errors import UserError
from harness.figures import circumstances as of_run
from harness.figures import machine, quality_state
from harness.figures.cautions import cautions
from harness.figures.cells import Cell, Failure, JudgeSummary, MachineCell, RunFigures
from harness.figures.endpointing import ends_rows, laws_rows, pauses_rows, summarise_endpointing, talked_over, untimed
from harness.figures.events import event_notes, event_rows
from harness.figures.latency import backchannel_words, filler_words, line_words, turn_figures
from harness.figures.load_knee import CurveStep, calls_within, knee
from harness.figures.paired_runs import counterparts, not_shared, refuse_other_callers, same_caller
from harness.figures.rank import rank_target
from harness.figures.seat import BesideSeat, Bounded, SeatSummary, beside_words, line_names, seat_words
from harness.figures.server_waits import server_waits, waits_notes, waits_rows
from harness.figures.session_figures import cut_short, heard_wer, spoken_of, understood_wer, unspoken_chances, unspoken_share
from harness.figures.steps import step_figures
from harness.figures.summarise import summarise
from harness.figures.way_to_people import Sides, way_to_people, way_to_people_together
from harness.ranking.question import RatingQuestion
from harness.ranking.ranking_object import as_object
from harness.scenarios.context import Context
from harness.scenarios.speakers import Speaker
from harness.servers.split import ServerSplit
from harness.store.judgment import Judgment
from harness.store.machine_facts import GpuUse
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import Session, SessionKey
from harness.timing.figures import (
    Contention,
    Endpointing,
    EventFate,
    EventTaken,
    InnerPause,
    LineQuality,
    Stage,
    TurnTiming,
    Utterance,
    Waterfall,
)
from tests.harness.figures.test_events import row_of
from tests.harness.load.made_turns import changed, queued, turn
from tests.harness.store.conftest import LAYOUT_1
from tests.judged import put
from tests.run_of_speakers import answered_by_people, run_of_speakers

FILE: Final = Path(__file__).with_name("same_figures.json")
BUDGETS: Final = {"ttft": 400.0, "ttfa": 500.0}
CASES: Final = {
    "turns": 10, "events": 12, "knee": 8, "sessions": 16, "cautions": 8, "machine": 12, "seat": 16, "quality": 16, "pairs": 8,
    "steps": 2, "runs": 4,
}  # fmt: skip


def drawn_turn(rng: Random) -> TurnTiming:
    """A turn of any kind: silent, early, discarded, with a filler, delayed by others, over a lossy line, from a server."""
    ms = rng.choice([None, *(float(k) for k in range(200, 1_600, 50))])
    early = ms is not None and rng.random() < 0.1
    filler = ms is not None and rng.random() < 0.2
    lost = rng.choice(["a click", "the call ended before an answer"]) if rng.random() < 0.02 else None
    pauses = tuple(
        InnerPause(-3_000.0, -3_000.0 + length, rng.choice(["kept", "cut", "already_talking"]), rng.random() < 0.5, 0, decided)
        for length in rng.sample([250.0, 500.0, 900.0, 2_000.0], rng.randrange(4))
        for decided in [rng.choice([None, True, False])]
    )
    decides = rng.random() < 0.5
    ends = Endpointing("e", pauses, ms, ms and ms - 150 if decides else None, decides, rng.random() < 0.2)
    owed = {name: rng.choice([0.0, 20.0, 120.0]) for name in ("ttfa", "ttft", "answer")}
    others = Contention(0.2, rng.choice([None, 0.1]), 0.0, rng.choice([None, 0, 3]), None, rng.choice([owed, {}]),
                        others=rng.choice([(), (("chromium", 0.4), ("python3", 0.2))]))  # fmt: skip
    whole = rng.choice([100.0, 240.0])

    def maybe(ms: float) -> float | None:
        return rng.choice([None, ms])

    split = ServerSplit(
        "llm", rng.choice(["vllm", "llama.cpp"]), whole, whole / 10, rng.choice(["request", "counters", "none"]),
        queue_ms=maybe(30.0), compute_ms=maybe(50.0), prefill_ms=maybe(40.0), first_decode_ms=maybe(10.0), idle_ms=maybe(5.0),
        running=maybe(2.0), waiting=maybe(1.0), cache_use=maybe(0.5), prefix_share=maybe(0.25), note=rng.choice(["",
            "two at once"]),
    )  # fmt: skip
    line = LineQuality(100, rng.randrange(6), rng.choice([None, 2.5]), rng.choice([None, 30.0]), rng.choice([None, 12.0]), 1)
    unsure = rng.choice([0.0, 400.0])
    fall = Waterfall(
        (Stage("endpointing", 0.0, 200.0), Stage("unexplained", 200.0, float(rng.randrange(-20, 90)))), (), (), unsure
    )
    return TurnTiming(
        "drawn", 0.0, None if early or lost else ms, -120.0 if early else None, answer_ms=ms and (ms + 900 if filler else ms),
        backchannels=rng.randrange(2), first_word_ms=ms, transcribed=True, ttft_ms=rng.choice([None, 90.0, 450.0]),
        utterances=(Utterance(ms, ms + 300, "filler" if filler else "answer"),) if ms is not None else (),
        pauses_marked=len(pauses), pause_durations_ms=tuple(p.length_ms for p in pauses),
        pause_was_cut=tuple(p.fate == "cut" for p in pauses), endpointing=rng.choice([ends, ends, None]),
        cut_in=rng.random() < 0.2, no_reply=ms is None, underruns=rng.randrange(2), stalled_ms=maybe(80.0), waterfall=fall,
        tokens_per_s=rng.choice([None, 20.0, 30.0]), servers=(split,) if rng.random() < 0.5 else (), discarded=lost,
        stages_from=rng.choice([None, "marks", "traces"]), stages_resolution_ms=rng.choice([None, 5.0, 40.0]),
        why_silent=rng.choice([None, "a function call"]), line=line if rng.random() < 0.5 else None, yield_ms=maybe(300.0),
        contention=rng.choice([others, others, others, None]),
    )  # fmt: skip


def turns(rng: Random) -> Any:
    """The figures of one cell, and the rows and sentences that are made of them."""
    count = rng.choice([3, 9, 12, 60])
    groups = {f"c{k}": [drawn_turn(rng) for _ in range(rng.choice([1, 2]))] for k in range(count)}
    texts = {name: [rng.choice([None, "I went, home. Then it was late."])] * len(group) for name, group in groups.items()}
    found = turn_figures(groups, budgets_ms=BUDGETS, seed=1, spoken=rng.random() < 0.8)
    paused = summarise_endpointing(groups, texts, seed=1)
    waits = [("a", server_waits(groups, 1))]
    words = [filler_words(found, 500.0), backchannel_words(found), line_words(found.line) if found.line else ""]
    of_pauses = [make([("a", paused)]) for make in (ends_rows, pauses_rows, laws_rows, untimed, talked_over)]
    return [found, paused, waits, words, of_pauses, waits_rows(waits), waits_notes(waits), found.answer_differs]


def events(rng: Random) -> Any:
    """The rows of a sound, and what is said beside them."""
    fates = get_args(EventFate)

    def taken() -> EventTaken | None:
        ms, lost = float(rng.randrange(100, 900, 100)), rng.choice([None, 0, 4])
        event = EventTaken("events-1", "cough", 1_200.0, rng.choice(fates), ms, 50.0, True, lost, rng.choice([0, 5]))
        return rng.choice([None, event, event, event])

    calls = {f"c{k}": [taken() for _ in range(rng.choice([1, 1, 2]))] for k in range(rng.choice([2, 9]))}
    rows = [("a", [row_of(calls, rng.choice(["cough", "interruption", "nothing"]))])]
    return [rows, event_rows(rows), event_notes(rows)]


def curve(rng: Random) -> Any:
    """Where drawn curves bend, and how many calls they serve."""
    steps = []
    for n, rate in enumerate(rng.sample([0.5, 1.0, 2.0, 4.0, 8.0], rng.randrange(6))):
        many, stretches, silent = rng.choice([8, 10]), rng.choice([7, 8, 12]), rng.choice([0.0, 0.2, 0.9])
        waits = {f"s{k}": [300 * 1.5**n * rng.uniform(0.8, 1.2) for _ in range(many)] for k in range(stretches)}
        waits |= {f"s{k}": [float("inf"), *waits[f"s{k}"][1:]] for k in range(stretches) if rng.random() < silent}
        steps.append(CurveStep(rate, 10 * rate, waits))
    found = [knee(steps), *(calls_within(steps, budget_ms) for budget_ms in (200.0, 900.0, 9_000.0))]
    return [None if one is None else [one.to_json(), one.words, one.band] for one in found]


def sessions(rng: Random) -> Any:
    """Unspoken turns and words that were not understood."""
    context = Context.model_validate({
        "id": "c0", "subset": "regular", "emotion": "worry", "problem": "work", "source": "test", "licence": "CC0",
        "turns": [{"role": "seeker", "text": "I lost <pause 300> my well-paid job, today."}],
    })  # fmt: skip
    found = []
    for k in range(rng.choice([0, 1, 12])):
        failure = rng.choice([None, None, "agent_died", "defect"])
        timing = replace(drawn_turn(rng), no_reply=rng.random() < 0.3)
        key = SessionKey(f"c{k % 3}", "", "a", "", rng.choice(["seeded", "replay"]), "clean", k)
        understood = rng.choice([None, "I lost my job", "I lost my well paid job today"])
        heard, ended = rng.choice([None, "You are right", "You are bright"]), rng.choice(["closed", "no_reply", "limit", "?"])
        found.append(
            Session(
                key.session_id, key, "failed" if failure else "finished", failure, "", rng.choice([None, "You are right."]),
                    understood,
                heard, None, timing, (timing,), 1, Path("x"), ended, rng.choice([None, 2, 3]), rng.randrange(4),
            )
        )  # fmt: skip
    contexts = {"c0": context}
    unwatched = of_run.unwatched([agent(runs_here=rng.choice([None, True, False]))], found)
    unspoken = [unspoken_chances(found), spoken_of(found), unspoken_share(found), list(cut_short(found))]
    return [*unspoken, understood_wer(found, contexts), heard_wer(found), unwatched]


def agent(name: str = "a", **more: Any) -> AgentEntry:
    return AgentEntry(name=name, **{"kind": "cascade", "profile_hash": "", "profile_text": "", **more})


def cell(rng: Random, name: str, **more: Any) -> Cell:
    place = {"agent": name, "condition": "clean", "mode": "seeded", "presentation": "heard_text", "subset": "all"}
    groups = {f"c{k}": [drawn_turn(rng)] for k in range(rng.choice([4, 9]))}
    return Cell.model_validate(dict(turn_figures(groups, budgets_ms=BUDGETS, seed=1)) | place | more)


def weakened(rng: Random) -> Any:
    """Every caution that drawn circumstances raise, of one run and of two on one page."""

    def known() -> of_run.Circumstances:
        names, maybe = [f"c{k}" for k in range(rng.choice([3, 12]))], rng.random() < 0.5
        some = rng.sample(names, 2)
        calibration = rng.choice([None, {"trials": 16.0, "ttfa_p50_error_ms": 0.41, "ttfa_max_error_ms": 2.12},
                                  {"trials": 64.0, "ttfa_p95_error_ms": 1.45}, {"ttfa_p95_error_ms": "not known"}])  # fmt: skip
        each: dict[str, Any] = {"idle_percent": {"a": rng.choice([0.9, 1.0, 3.0])}, "unfinished": {"runs/x": 2},
            "unsure_clocks": {"a": (2,
            30.0)},
                "reported_stages": {"a": ("traces", 12.0)}, "other_wires": {"a": "no"}, "odd_sound": {"a": "half speed"},
                "why_silent": {"a": "a function call (2 turns)"}, "stalled": {"a": (1, 90.0)}, "throttled": {"a": 2},
                "unwatched": {"a": of_run.Unwatched(9, 2, 1)}, "calls": {"runs/x": "calls.csv"}, "other_language": {"c1": "de"},
                "speakers": {name: Speaker("p1", automatic=maybe) for name in some},
                "to_judge_again": {"runs/x": "judge RUN again"},
                "not_analysed": {"runs/x": 1}, "gpu_clocks": ("GPU 0: slow.",), "gpu_shared": ("GPU 0: shared.",),
                "length_tells": ("Length tells.",), "sides_swapped": ("Swapped?",),
                "merged": frozenset({"runs/x"})}  # fmt: skip
        return of_run.Circumstances(
            contexts=frozenset(names), played=frozenset(names), judged=frozenset(some), verdicts=rng.choice([0, 9]),
            silent=rng.choice([0, 1]), machines_differ=rng.choice([0, 2]), machines_pooled=maybe, spoken=rng.random() < 0.8,
            timing_alone=frozenset(rng.choice([(), some, names])), onset_error=of_run.onset_error(calibration),
            human_baseline=maybe, **{name: value for name, value in each.items() if rng.random() < 0.5},
        )  # fmt: skip

    cells = [cell(rng, name, flags={"to_judge": rng.choice([0, 1])}, spoken=rng.choice([None, (7, 9)]), unspoken={"length": 2})
             for name in "ab"]  # fmt: skip
    judges = [JudgeSummary(id=f"j{k}", accuracy=0.7, flip_rate=0.1, trusted=False, trust=rng.choice(["trusted", "weak",
        "silent"]),
                           own_family_judgments=rng.randrange(2)) for k in range(rng.randrange(3))]  # fmt: skip
    differ = [MachineCell(**{name: getattr(cells[0], name) for name in MachineCell.model_fields if hasattr(cells[0], name)},
                          machine="a Xeon", machines=1)]  # fmt: skip
    failed = [Failure(context="c1", agent="a", kind=rng.choice(["flood", "unspoken"]), detail="")]
    run = RunFigures(run="runs/x", valid=rng.random() < 0.7, invalid=["late frames"], cells=cells, judges=judges,
        by_machine=differ,
                     failures=failed, seats=[seat_of(rng)])  # fmt: skip
    both = of_run.together([known(), known()], ["thin"], rng.random() < 0.5)
    errors = [
        of_run.onset_error({"ttfa_p95_error_ms": 1.0}),
        rng.choice([None, of_run.onset_error({"ttfa_max_error_ms": 2.0})]),
    ]
    return [[cautions(run, one) for one in (known(), both)], sorted(both.unjudged), of_run.largest(errors)]


def computed_on(rng: Random) -> Any:
    """The machine and its GPUs in words."""
    clock = rng.choice([(), (1_500.0, 1_480.0), (1_500.0, 1_300.0), (1_300.0, 1_500.0)])
    use = GpuUse(900, loaded=400, sm_clock_mhz=clock, slowed={"heat": rng.choice([0.005, 0.2]), "power": 0.03},
                  slowed_sm_clock_mhz=rng.choice([None, (1_200.0, 1_700.0)]), others_share=rng.choice([None, 0.01,
                      0.4]))  # fmt: skip
    facts = {"processor": "Xeon", "cores": 8, "instruction_sets": "AVX2", "gpus": "H100", "recogniser_held_to": "AVX"}
    agents = [agent(name, threads=threads, runs_here=here, kind=rng.choice(["cascade", "text"])) for name, threads, here in (
        ("a", {"model": 2}, True), ("b", {"model": 2}, None), ("c", {}, rng.choice([None, True, False])))]  # fmt: skip
    made = manifest(agents=agents, machine={name: fact for name, fact in facts.items() if rng.random() < 0.7})
    found = machine.machines_of(made)
    return [found, [one.words for one in found], machine.clock_sentences({"G": use}), machine.sharing_sentences({"G": use})]


def manifest(**more: Any) -> RunManifest:
    given = {"created": "2030", "harness_version": "0", "pack": "p", "pack_source": "p", "pack_hash": "x",
        "context_ids": ["c1"],
             "agents": [agent()], "mode": "seeded", "conditions": ["clean"], "repeats": 1, "seed": 1}  # fmt: skip
    return RunManifest.model_validate(given | more)


def seat_of(rng: Random) -> SeatSummary:
    bounded = Bounded(value=rng.choice([None, 1_510.0]), interval=rng.choice([None, (1_470.0, 1_550.0), (None, 1_600.0)]))
    return SeatSummary(
        agent=rng.choice(["people", "people b", "rehearsal"]), condition="clean", persons=rng.choice([1, 12]),
        conversations=rng.choice([7, 12]), replies=36, sittings=12, not_calibrated=rng.randrange(2),
            over_limit=rng.randrange(2),
        largest_error_ms=rng.choice([None, 0.2, 6.5]), unrated=rng.randrange(2), with_losses=rng.randrange(2), mean=bounded,
        best=Bounded(),
    )  # fmt: skip


def seated(rng: Random) -> Any:
    """People in words, and an agent beside them."""
    seat = seat_of(rng)
    later = rng.choice([(None, None), (30.0, (-50.0, 100.0)), (240.0, (120.0, 380.0)), (-90.0, (-150.0, -20.0))])
    won = rng.choice([(None, None), (0.45, (0.35, 0.56)), (0.31, (0.2, 0.44)), (0.6, (0.52, 0.7))])
    beside = BesideSeat(seat=seat.agent, persons=seat.persons, conversations=seat.conversations,
                        later_ms=Bounded(value=later[0], interval=later[1]), preferred=Bounded(value=won[0], interval=won[1]),
                        comparisons=rng.choice([0, 36]), by_people=rng.random() < 0.5)  # fmt: skip
    return [seat_words(seat), list(line_names(seat)), [beside_words(beside, quoted=quoted) for quoted in (True, False)]]


def quality(rng: Random) -> Any:
    """The state of a board by its judges, and the way to people's axis."""
    judges = [JudgeSummary(id=f"j{rng.randrange(2)}", accuracy=0.7, flip_rate=0.1, trusted=rng.random() < 0.6,
                           trust=rng.choice(["trusted", "weak"]), standing=rng.choice(["", "An opinion: 61 % right"]))
              for _ in range(rng.randrange(3))]  # fmt: skip
    names = rng.sample(["j0", "j1"], rng.randrange(3))
    replies = [rng.randrange(4) for _ in range(rng.choice([7, 8, 30]))]
    contexts = len(replies)
    return [quality_state.state_of(None, names, judges), quality_state.words_of(None, names, judges),
            way_to_people(Path("run"), Sides(replies, replies, competing := rng.choice([1, 3]), competing), 60.0),
            way_to_people_together(["a", "b", "c"][: rng.choice([1, 3])], contexts)]  # fmt: skip


def paired(rng: Random) -> Any:
    """Which parts of two runs are partners, and why others are none."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("now", "before"):
            store = run_of_speakers(Path(folder) / name, rng.choice([1, 2]), 2)
            names = rng.choice([["quick", "slow"], ["quick"], ["other"]])
            conditions, mode = (
                rng.choice([["clean"], ["clean", "noisy"], ["noisy"]]),
                rng.choice(["seeded", "seeded", "replay"]),
            )
            changes = {"agents": [agent(one) for one in names], "mode": mode, "conditions": conditions}
            made = store.manifest.model_copy(update=changes)
            store.set_manifest(made)
            runs.append((store, made))
        (now, ours), (before, theirs) = runs
        contexts = list(now.contexts())
        if rng.random() < 0.3:
            contexts[0] = contexts[0].model_copy(
                update={"turns": (contexts[0].turns[0].model_copy(update={"text": "Another."}),)}
            )
        try:
            refuse_other_callers(before, ours, contexts)
            refused = ""
        except UserError as error:
            refused = str(error).replace(folder, "")
        alike = [same_caller(one, two) for one, two in zip(contexts, before.contexts(), strict=False)]
        said = not_shared(ours.context_ids, theirs.context_ids)
        now.close()
        before.close()
    return [counterparts(ours, theirs), refused, said, alike]


def stepped(rng: Random) -> Any:
    """The figures of one step of a load test."""
    calls = queued(rng.choice([1.0, 4.0]), rng.choice([60.0, 200.0]), rng.randrange(9))
    odd = [turn(9_000 + k, float(k), rng.choice([None, 700.0]), failure=rng.choice([None, "refused", "defect"]),
        filler=k % 2 == 0,
                counted=rng.random() < 0.7) for k in range(20)]  # fmt: skip
    served = [
        changed(call, servers=drawn_turn(rng).servers, cut_in=rng.random() < 0.2, underruns=rng.randrange(2))
        for call in calls[:40]
    ]
    found = asdict(step_figures([*calls, *odd, *served]))
    return {
        **found,
        "ttfa_by_stretch": {
            name: float(sum(min(one, 15_000.0) for one in ms)) for name, ms in found["ttfa_by_stretch"].items()
        },
    }


def read(rng: Random) -> Any:
    """The summary of whole runs, made by an older harness and by this one, judged and voted on; and their ranking."""
    kind = rng.choice([0, 1, 2, 3]) if not isinstance(rng, Numbered) else rng.number
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        if kind < 2:
            shutil.copytree(LAYOUT_1 / ("one-condition", "two-conditions")[kind], path)
            store = RunStore.open(path)
        else:
            store = run_of_speakers(path, 9, 2, sourced=kind == 2, unknown=kind - 2)
            answered_by_people(store, persons=6)
            put(store, [Judgment.model_validate({
                "context": c.id, "subset": c.subset, "system_a": a, "system_b": b, "source": source,
                "judge": f"{source}/{n % 3}",
                "winner": rng.choice(["a", "a", "b", "tie"]), "presentation": "heard_text", "condition": "clean",
                "strength": 1 + n % 3, "draw_rate": 1.0 if source == "human" else None,
            }) for n, c in enumerate(store.contexts()) for a, b in (("quick", "slow"), ("quick", "people"))
                for source in (("human", "judge") if kind == 2 else ("judge",))])  # fmt: skip
        with closing(store):
            found = json.loads(summarise(store).to_json().replace(folder, ""))
            del found["agents"], found["warnings"]
            condition = store.manifest.conditions[0]
        ranked: Any = None
        if kind != 1:
            ranked = as_object(rank_target(path, RatingQuestion(condition=condition, draws=50)))
    return [found, ranked]


class Numbered(Random):
    """A source of chance that says which case it is of."""

    number = 0


PARTS: Final[Mapping[str, Callable[[Random], Any]]] = {
    "turns": turns, "events": events, "knee": curve, "sessions": sessions, "cautions": weakened, "machine": computed_on,
    "seat": seated, "quality": quality, "pairs": paired, "steps": stepped, "runs": read,
}  # fmt: skip


def found(part: str) -> list[Any]:
    """The results of a part on its drawn cases, as JSON has them."""
    results = []
    for k in range(CASES[part]):
        rng = Numbered(f"{part} {k}")
        rng.number = k
        results.append(rounded(to_jsonable_python(PARTS[part](rng), inf_nan_mode="strings")))
    return results


def rounded(value: Any) -> Any:
    """The value with six digits behind the point; of a sentence, the figures in it."""
    if isinstance(value, dict):
        return {str(name): rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, str) and value.count(" ") > 3:
        return re.findall(r"\d[\d.,]*|[a-z_]+_[a-z]+", value)
    return round(value, 6) if isinstance(value, float) else value


if __name__ == "__main__":
    each = [f'"{part}": [\n' + ",\n".join(json.dumps(one) for one in found(part)) + "\n]" for part in PARTS]
    FILE.write_text("{\n" + ",\n".join(each) + "\n}\n", encoding="utf-8")
