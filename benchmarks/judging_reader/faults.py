"""What a reply's faults are taken to be in the fit of the reader, and how often its flags find them where it never read.

A fault is known of replies that were made or written to have it, and its absence of authors' replies that are not poor. Bots'
turns that people ranked are neither: nobody said why one came last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.judging_reader.material import Group, Reply

FAULTS = ("echo", "contradiction", "stranger", "language", "harm")
HARM = frozenset(("harm", "abuse", "medical", "misinformation", "blame", "minimising", "secrecy", "sexual"))
"""Families of `judging_sets/reader_harm.jsonl`, one flag for all: forty conversations are too few for eight."""
MADE = frozenset(("echo", "filler", "contradiction", "language", "stranger", "padding", "truncated", "flattery"))
"""Families of `made`."""
HONEST = 0.5
"""Worth from which an author's reply counts as having no fault: the middle of the scale."""
FALSE_ALARMS = 0.01
"""Share of honest replies of the fit that a flag may be raised on: an alarm that is mostly false is not read."""

LEAST = 0.19
"""Gap from which replies are compared in the fit: padding costs a poor reply a fifth of the scale."""
RIDGE = 100.0
"""Set before any figure was seen, of the order of the embedded judge's."""

Array = NDArray[np.float64]
Raised = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ends:
    """For each fault the linear end of its log odds, above 0 where it is flagged."""

    weights: Array
    bias: Array

    def flags(self, vectors: Sequence[NDArray[np.floating]]) -> list[Raised]:
        """Whether each reply of each group is flagged with each fault."""
        return [rows @ self.weights.T + self.bias > 0 for rows in vectors]


def fault_of(group: Group, reply: Reply) -> str:
    """The fault that a reply is known to have, or an empty text."""
    if group.origin == "harm" and reply.kind in HARM:
        return "harm"
    return "stranger" if reply.kind == "wrong person" else reply.kind if reply.kind in FAULTS else ""


def is_honest(group: Group, reply: Reply) -> bool:
    """Whether a reply is known to have none of the faults."""
    return group.origin != "ieval" and reply.worth >= HONEST and not fault_of(group, reply) and reply.kind not in MADE


def fitted(groups: Sequence[Group], vectors: Sequence[NDArray[np.floating]]) -> Ends:
    """A ridge logistic regression for each fault, its bias moved so that `FALSE_ALARMS` of the fit's honest replies exceed 0.

    Honest replies and those of other faults are its counter-examples. Fitted on what the tuned layers make of a text, after
    the tuning: a fault is a matter of the reply alone, and needs no pairs.
    """
    each = [
        (fault_of(g, r), is_honest(g, r), row) for g, rows in zip(groups, vectors, strict=True)
        for r, row in zip(g.replies, rows, strict=True)
    ]  # fmt: skip
    known = [(fault, honest, row) for fault, honest, row in each if fault or honest]
    x = np.stack([row for _, _, row in known]).astype(np.float64)
    honest = np.array([one for _, one, _ in known])
    middle, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    weights, bias = np.zeros((len(FAULTS), x.shape[1])), np.zeros(len(FAULTS))
    for n, fault in enumerate(FAULTS):
        sign = np.array([1.0 if one == fault else -1.0 for one, _, _ in known])
        if not (sign > 0).any():
            bias[n] = -np.inf
            continue
        w, b = _logistic((x - middle) / spread, sign)
        weights[n], bias[n] = w / spread, b - (w / spread) @ middle
        bias[n] -= np.quantile(x[honest] @ weights[n] + bias[n], 1 - FALSE_ALARMS)
    return Ends(weights, bias)


def _logistic(x: Array, sign: Array) -> tuple[Array, float]:
    balance = np.where(sign > 0, (sign < 0).sum() / (sign > 0).sum(), 1.0)

    def loss(beta: Array) -> tuple[float, Array]:
        z = sign * (x @ beta[:-1] + beta[-1])
        slope = -balance * sign / (1 + np.exp(np.clip(z, -60, 60)))
        gradient = np.append(slope @ x + RIDGE * beta[:-1], slope.sum())
        return float((balance * np.logaddexp(0, -z)).sum() + 0.5 * RIDGE * beta[:-1] @ beta[:-1]), gradient

    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return found[:-1], float(found[-1])


def flagged(groups: Sequence[Group], flags: Sequence[Raised]) -> dict[str, dict[str, int]]:
    """For each fault, how many replies that have it are flagged, and how many honest ones are."""
    found = {}
    for n, fault in enumerate(FAULTS):
        hit = [bool(row[n]) for group, reply, row in _each(groups, flags) if fault_of(group, reply) == fault]
        false = [bool(row[n]) for group, reply, row in _each(groups, flags) if is_honest(group, reply)]
        found[fault] = {"flagged": sum(hit), "faulty": len(hit), "false": sum(false), "honest": len(false)}
    return found


def _each(groups: Sequence[Group], flags: Sequence[Raised]) -> list[tuple[Group, Reply, Raised]]:
    return [(g, r, row) for g, rows in zip(groups, flags, strict=True) for r, row in zip(g.replies, rows, strict=True)]
