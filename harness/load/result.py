"""A load test read from its rows: its steps, the highest load within bounds, what limits it, and what the curve says."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from harness.figures.load_knee import CurveStep, OnCurve, calls_within, knee
from harness.figures.steps import ShareOf, StepFigures, step_figures
from harness.load.limits import Limit, limit_of
from harness.store.load_part import LoadPart, StepRecord
from harness.store.manifest import RunManifest
from harness.store.run_store import RunStore
from harness.timing.quantiles import Quantiles

_SHOWN: Final = {"p50", "p95", "p50_interval", "p95_interval", "p50_over_limit", "p95_over_limit", "n"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the curve with the agent's figures."""

    record: StepRecord
    figures: StepFigures

    @property
    def said(self) -> StepFigures | None:
        """The figures, where they say something about the agent; None elsewhere."""
        return self.figures if self.record.says_of_agent else None

    def over(self, budget_ms: float | None = None) -> Limit | None:
        """Why the step is over a bound, or over the budget at p95; None if it is within all."""
        return limit_of(self.record, self.figures.ttfa_ms, budget_ms)

    def to_json(self) -> dict[str, Any]:
        """One entry of `steps`. The agent's figures are null where the step says nothing about the agent."""
        found = self.said
        return {
            **self.record.model_dump(exclude={"computing", "unix_ahead_ns"}),
            "ttfa_ms": _percentiles(found.ttfa_ms if found else Quantiles()),
            "ttft_ms": _percentiles(found.ttft_ms if found else Quantiles()),
            "answer_ms": _percentiles(found.answer_ms if found else Quantiles()),
            "filler_first": found.filler_first if found else None,
            "turns": found.turns if found else None,
            "stretches": found.stretches if found else None,
            "cut_in_rate": _share(found.cut_ins) if found else None,
            "continuity": _share(found.continuity) if found else None,
            "no_reply_rate": _share(found.no_reply) if found else None,
            "failed_rate": _share(found.failed) if found else None,
            "servers": [row.model_dump() for row in found.servers] if found else None,
        }


@dataclass(frozen=True, slots=True)
class LoadResult:
    """All steps, in the order played. `ceiling` is the most offered load (callers at once, or calls a second) with all bounds
    met up to there; None if no step met them.

    Met means: callers, frames and answers on time, no call failed, at most one in twenty without reply, and with a budget
    also TTFA within it at p95.
    """

    part: LoadPart
    steps: tuple[Step, ...] = ()

    @property
    def is_open(self) -> bool:
        """True if its callers came at a rate."""
        return self.part.law is not None

    @property
    def ceiling(self) -> float | None:
        best = None
        for step in self._sorted:
            if step.over(self.part.budget_ms) is not None:
                break
            best = step.record.offered
        return best

    @property
    def limit(self) -> tuple[float, Limit] | None:
        """The least offered load over a bound, with the reason; None if all steps met their bounds."""
        found = ((step.record.offered, step.over(self.part.budget_ms)) for step in self._sorted)
        return next(((offered, limit) for offered, limit in found if limit is not None), None)

    @property
    def knee(self) -> OnCurve | None:
        """The rate at which the curve of an open loop bends; None for a closed one, or under three steps that have a p95."""
        return knee(self._curve) if self.is_open else None

    @property
    def within_budget(self) -> OnCurve | None:
        """The highest rate with a p95 within the budget; None for a closed loop, without a budget, or without a p95."""
        budget_ms = self.part.budget_ms
        return calls_within(self._curve, budget_ms) if self.is_open and budget_ms is not None else None

    @property
    def _curve(self) -> list[CurveStep]:
        """The steps that say something about the agent."""
        said = [(step.record, step.figures) for step in self.steps if step.record.says_of_agent]
        return [CurveStep(one.rate, one.calls_at_once or 0.0, found.ttfa_by_stretch) for one, found in said if one.rate]

    @property
    def _sorted(self) -> list[Step]:
        return sorted(self.steps, key=lambda step: step.record.offered)

    def to_json(self) -> dict[str, Any]:
        """The object that `harness load --json` prints, without what the test was made of."""
        limit, part = self.limit, self.part
        knee, within = self.knee, self.within_budget
        return {
            "schema": 1,
            "arrivals": part.law,
            "for_s": part.for_s,
            "steps": [step.to_json() for step in self.steps],
            "ceiling": self.ceiling,
            "limit": {"rate" if self.is_open else "callers": limit[0], **asdict(limit[1])} if limit is not None else None,
            "knee": knee.to_json() if knee is not None else None,
            "within_budget": within.to_json() if within is not None else None,
            "budget_ms": part.budget_ms,
            "priority": part.priority,
        }


def made_of(manifest: RunManifest) -> dict[str, Any]:
    """What a load test was made of: two tests that differ here differ in more than their agent."""
    gpus = {name: value for name, value in manifest.machine.items() if "gpu" in name or name in ("cuda_of_driver", "mps")}
    return {
        "agent": manifest.played[0].name,
        "pack": manifest.pack,
        "pack_hash": manifest.pack_hash,
        "mode": manifest.mode,
        "contexts": manifest.load.contexts if manifest.load is not None else 0,
        "seed": manifest.seed,
        "created": manifest.created,
        "machine": manifest.machine_id,
        "harness_version": manifest.harness_version,
        "gpus": gpus,
        "cards": {name: asdict(use) for name, use in manifest.cards.items()},
    }


def read_result(store: RunStore) -> LoadResult:
    """The result of a stored load test; the turns of one step at a time are in memory."""
    part = store.manifest.load
    assert part is not None, store.folder
    return LoadResult(part, tuple(Step(one, step_figures(store.calls_of(one.name))) for one in part.steps))


def _percentiles(found: Quantiles) -> dict[str, Any]:
    return found.model_dump(include=_SHOWN)


def _share(found: ShareOf) -> dict[str, Any]:
    return {"value": found.value, "interval": found.interval, "hits": found.hits, "of": found.of}


def without_nan(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {k: without_nan(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
