"""A load test of an older harness, read into the rows of a run: its folder has `load.json` and `turns.jsonl`, and no database.

Everything that reads a run then reads it too. The folder is not changed.
"""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from harness.errors import UserError
from harness.foreign_files import read_json
from harness.servers.split import ServerSplit
from harness.store.load_part import FILLING, LoadPart, StepRecord, step_name
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.session import SessionKey, UnrecordedCall
from harness.timeline import NS_PER_MS
from harness.timing.figures import Stage, TurnTiming, Utterance, Waterfall

OLD_LOAD: Final = "load.json"
_TURNS: Final = "turns.jsonl"
_SERVERS: Final = TypeAdapter(tuple[ServerSplit, ...])
_SAME: Final = ("ttfa_ms", "answer_ms", "signed_ms", "ttft_ms", "no_reply", "cut_in", "underruns", "stages_from")


def is_old_load(folder: Path) -> bool:
    """True if this is the folder of a load test of an older harness."""
    return (folder / OLD_LOAD).is_file()


def read_old_load(folder: Path) -> tuple[RunManifest, list[UnrecordedCall]]:
    """The manifest and the calls of all finished steps. Raises UserError: a file is of another schema, or was changed."""
    try:
        given = read_json((folder / OLD_LOAD).read_text(encoding="utf-8"))
        if given["schema"] != 1:
            raise UserError(f"{folder / OLD_LOAD}: schema {given['schema']}; this harness reads schema 1")
        part, made = _part(given), given["made"]
        calls = list(_calls(folder / _TURNS, part, made))
        manifest = RunManifest(
            created=made["created"], harness_version=made["harness_version"], pack=made["pack"], pack_source=made["pack"],
            pack_hash=made["pack_hash"], context_ids=list(dict.fromkeys(call.key.context_id for call in calls)),
            agents=[AgentEntry(name=made["agent"], source=made["agent"], kind="", profile_hash="", profile_text="")],
            mode=made["mode"], conditions=["clean"], repeats=1, seed=made["seed"], machine=made.get("gpus", {}),
            machine_id=made["machine"], cards=made.get("cards", {}), load=part,
        )  # fmt: skip
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, IndexError, ValidationError) as error:
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{folder}: is not a load test of this harness, or is damaged ({why}); play it again") from error
    return manifest, calls


def _part(given: dict[str, Any]) -> LoadPart:
    law = given.get("arrivals")
    records = [StepRecord.model_validate(step) for step in given["steps"]]
    records = [one.model_copy(update={"name": step_name(one.offered, law)}) for one in records]
    return LoadPart(
        law=law, for_s=given.get("for_s"), budget_ms=given.get("budget_ms"), priority=given.get("priority", ""),
        records=tuple(records), contexts=given["made"]["contexts"],
    )  # fmt: skip


def _calls(path: Path, part: LoadPart, made: dict[str, Any]) -> Iterator[UnrecordedCall]:
    # Not `splitlines`: a detail may have a separator that JSON does not escape.
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = (json.loads(line) for line in lines[: -1 if not lines[-1].endswith("}") else None])
    often: Counter[tuple[int, str]] = Counter()
    for (step, _), group in groupby(rows, key=lambda row: (row["step"], row["session"])):
        turns = list(group)
        if step >= len(part.records):  # Of a step that was not finished, or of a play of `--isolate`.
            continue
        first, context = turns[0], turns[0]["context"]
        key = SessionKey(context, "", made["agent"], "", made["mode"], "clean", often[step, context], part.records[step].name)
        often[step, context] += 1
        yield UnrecordedCall(
            key, first["begin_ns"], tuple(_timing(turn, first["begin_ns"]) for turn in turns), first.get("failure"),
            first.get("detail", ""), first.get("due_ns"), first.get("begun_ns"), spoken_turns=len(turns),
        )  # fmt: skip


def _timing(turn: dict[str, Any], started_ns: int) -> TurnTiming:
    stages = tuple(Stage(name, *times) for name, times in turn.get("stages", {}).items())
    # Of a reply that is a filler alone, no answer is known.
    alone = turn.get("filler") and turn.get("answer_ms") is None
    return TurnTiming(
        method="load", spoken_end_ms=(turn["spoken_end_ns"] - started_ns) / NS_PER_MS,
        begin_ms=(turn["begin_ns"] - started_ns) / NS_PER_MS, reply_end_ms=(turn["end_ns"] - turn["spoken_end_ns"]) / NS_PER_MS,
        utterances=(Utterance(turn["ttfa_ms"], turn["ttfa_ms"], "filler"),) if alone else (),
        waterfall=Waterfall(stages) if stages else None, servers=_SERVERS.validate_python(turn.get("servers", ())),
        own_ms=tuple(turn.get("own_ms", {}).items()), discarded=turn.get("discarded") if turn["counted"] else FILLING,
        **{name: turn[name] for name in _SAME},
    )  # fmt: skip
