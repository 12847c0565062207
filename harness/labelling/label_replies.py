"""Labels for the replies of a run or a file: by a judge, and by people, to measure that judge.

Labels are saved after each reply, so that a stopped labelling can be continued. A judge's quality as a labeller is
"not measured here" until two people have labelled a sample too.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.errors import UserError
from harness.figures.rank import chosen_condition
from harness.files import write_whole
from harness.judging.batch import reference_completions
from harness.judging.completion import Completion, read_completions
from harness.judging.endpoint import ChatEndpoint
from harness.judging.judge import JudgeFailure
from harness.judging.mend import why_missing
from harness.judging.settings import JudgeSettings, load_judge_settings
from harness.labelling.model_labels import code_rationale, labels_of, written_marks
from harness.progress import RunProgress
from harness.ranking.rationales import agreement_with_rules
from harness.ranking.strategies import STRATEGIES, StrategyLabel
from harness.scenarios.context import Context
from harness.scenarios.pack import load_pack
from harness.store.judgment import Judgment, Presentation
from harness.store.paths import LABELS, plain_name
from harness.store.run_store import RunStore
from harness.store.selection import Selection
from harness.tables.json_rows import first_fault, json_rows
from harness.verdicts.batches import competitors

REPORTED = "strategies.jsonl"
"""File in a run's folder with the labels for its report, the latest ones."""
LONGEST_ANSWER_TOKENS = 2_000
"""Most tokens of an answer: fifteen marks with quotations take about a thousand."""
_KEY = TypeAdapter(dict[int, tuple[str, str]])
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Material:
    """The replies to label, and the folder for labels. `run` is None for a file of completions."""

    contexts: tuple[Context, ...]
    completions: tuple[Completion, ...]
    folder: Path
    run: Path | None
    condition: str = ""
    """Written into every label, where the run has several conditions."""


def material(target: Path, pack: str, presentation: Presentation, condition: str | None = None) -> Material:
    """The replies of a run's folder in one condition (of several repeats the first; references included), or of a JSON Lines
    file of completions.

    Raises:
        UserError: there is nothing to label, or the file or pack is wrong.
    """
    if target.is_dir():
        store = RunStore.open(target)
        contexts, selection = store.contexts(), Selection(store)
        chosen = chosen_condition(selection, condition)
        spoken = [c for c in competitors(selection, chosen, 0, presentation) if not c.lost]
        store.close()
        where = LABELS if len(selection.conditions) == 1 else f"{LABELS}/{plain_name(chosen)}"
        said = chosen if len(selection.conditions) > 1 else ""
        return Material(contexts, (*spoken, *reference_completions(contexts)), target / where, target, said)
    given = load_pack(pack).contexts
    return Material(tuple(given), read_completions(target, given).completions, target.with_suffix(".labels"), None)


def labelling_judge(name: str) -> JudgeSettings:
    """The settings of a judge that can label strategies and reasons.

    Raises:
        UserError: the judge does not exist, or cannot write an answer.
    """
    settings = load_judge_settings(name)
    if settings.api not in ("openai", "anthropic", "gemini") or settings.audio is not None:
        raise UserError(f"--judge {name}: only compares and cannot label; name one behind an endpoint, or a .toml file")
    return settings.model_copy(update={"max_tokens": max(settings.max_tokens, LONGEST_ANSWER_TOKENS)})


async def label_replies(found: Material, settings: JudgeSettings, progress: RunProgress) -> tuple[list[StrategyLabel], int]:
    """Label each reply that this judge has not labelled; returns all labels and the number of replies without usable answer."""
    path = found.folder / f"strategies.{_plain(settings)}.jsonl"
    done = {(x.context, x.system) for x in read_labels(path)} if path.exists() else set()
    contexts = {c.id: c for c in found.contexts}
    todo = [c for c in found.completions if c.context_id in contexts and (c.context_id, c.system) not in done]
    found.folder.mkdir(parents=True, exist_ok=True)
    progress.phase(f"Labelling ({settings.judge_id})", len(todo))
    missing = 0
    if todo:
        with path.open("a", encoding="utf-8") as handle:
            async with ChatEndpoint(settings) as endpoint:

                async def one(reply: Completion) -> None:
                    marks = await written_marks(endpoint, contexts[reply.context_id], reply.text)
                    labels = labels_of(marks, reply, settings.judge_id, found.condition)
                    handle.write("".join(label.model_dump_json() + "\n" for label in labels))
                    handle.flush()

                missing = await _all(todo, one, progress)
    labels = read_labels(path) if path.exists() else []
    if found.run is not None and labels:
        _report(found.run, found.condition, labels)
    return labels, missing


def _report(run: Path, condition: str, labels: Sequence[StrategyLabel]) -> None:
    """Replace the labels of this condition in the run's report."""
    path = run / REPORTED
    others = [x for x in read_labels(path) if x.condition != condition] if path.exists() else []
    write_whole(path, "".join(label.model_dump_json() + "\n" for label in (*others, *labels)))


async def code_reasons(
    rows: Sequence[Judgment], settings: JudgeSettings, folder: Path, progress: RunProgress
) -> tuple[float | None, int, int]:
    """Code the reasons of verdicts by a judge; returns its κ with the rules and the numbers coded and without usable answer."""
    reasons = list(dict.fromkeys(row.rationale for row in rows if row.rationale.strip()))
    coded: dict[str, frozenset[str]] = {}
    progress.phase(f"Coding reasons ({settings.judge_id})", len(reasons))
    async with ChatEndpoint(settings) as endpoint:

        async def one(reason: str) -> None:
            coded[reason] = await code_rationale(endpoint, reason)

        missing = await _all(reasons, one, progress)
    lines = [json.dumps({"reason": r, "skills": sorted(coded[r])}, ensure_ascii=False) for r in reasons if r in coded]
    _write(folder / f"reasons.{_plain(settings)}.jsonl", "".join(f"{x}\n" for x in lines))
    return agreement_with_rules(coded.items()), len(coded), missing


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


async def _all(items: Sequence[_T], one: Callable[[_T], Awaitable[None]], progress: RunProgress) -> int:
    """Run `one` on each item; returns the number of failures. The endpoint's own gate limits simultaneous requests."""
    done, failures = 0, []

    async def each(item: _T) -> None:
        nonlocal done
        try:
            await one(item)
        except JudgeFailure as failure:
            failures.append(failure)
        done += 1
        progress.count(done, len(items))

    await asyncio.gather(*(each(item) for item in items))
    if failures:
        progress.note(f"{why_missing(failures, len(items) - len(failures))}.")
    return len(failures)


def read_labels(path: Path) -> list[StrategyLabel]:
    """The labels of one file, without replies that lack some of the fifteen, so that these are labelled again.

    Raises:
        UserError: a line is not a label.
    """
    labels: dict[tuple[str, str, str], list[StrategyLabel]] = {}
    for label in every_label(path):
        labels.setdefault((label.context, label.system, label.condition), []).append(label)
    return [x for mine in labels.values() if len(mine) == len(STRATEGIES) for x in mine]


def every_label(path: Path) -> list[StrategyLabel]:
    """All labels of one file.

    Raises:
        UserError: a line is not a label.
    """
    labels = []
    for row, where in json_rows(path):
        try:
            labels.append(StrategyLabel.model_validate(row))
        except ValidationError as error:
            why = first_fault(error)
            raise UserError(f"{where}: is not a strategy label ({why}); delete the file to label anew") from error
    return labels


def labels_by_judge(folder: Path) -> dict[str, list[StrategyLabel]]:
    """Labeller → its labels, from all files in the folder."""
    found = {}
    for path in sorted(folder.glob("strategies.*.jsonl")):
        labels = read_labels(path)
        if labels:
            found[labels[0].labeller] = labels
    return found


def write_key(folder: Path, key: Mapping[int, tuple[str, str]]) -> None:
    """Save the reply of each item in a file separate from the sheets."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "key.json", json.dumps({str(k): v for k, v in key.items()}) + "\n")


def read_key(folder: Path) -> dict[int, tuple[str, str]]:
    """The reply of each item.

    Raises:
        UserError: no sample was exported.
    """
    try:
        return _KEY.validate_json((folder / "key.json").read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise UserError(f"{folder / 'key.json'}: no sample was exported here; run `harness label export` first") from error


def _plain(settings: JudgeSettings) -> str:
    return re.sub(r"[^a-zA-Z0-9.@+-]", "-", settings.judge_id)
