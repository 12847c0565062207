"""Pauses cut, weighted to people's lengths: a share that does not depend on the pack's own mix of short and long pauses.

An agent cuts long pauses sooner than short ones, so its share of pauses cut is also a property of the pack. Within a band of
lengths it is nearly its own. So each band counts as much as people have pauses in it, by each law of their lengths
(`harness.scenarios.pause_law`): nobody knows which is right for these callers, and an agent may be good under one alone. This
is the least that weighting can do; a pack marked by the other law measures it with more pauses where they matter.

A band without a pause leaves the share unknown. Rare pauses with large weights carry little, which the effective number states:
the number of unweighted pauses that would be as exact within bands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.scenarios.pause_law import LAWS, LawName, PauseLaw
from harness.statistics.clustered_means import clustered_share

Bands = Sequence[tuple[float, float | None]]


class LawShare(BaseModel):
    """The share of pauses cut under one law of their lengths; null where a band of lengths has no pause here."""

    model_config = ConfigDict(extra="forbid")

    law: LawName
    share: float | None = None
    interval: tuple[float, float] | None = None
    effective_pauses: float | None = None


@dataclass(frozen=True, slots=True)
class OpenPause:
    """A pause in which the agent could choose."""

    bunch: str
    length_ms: float
    cut: bool


def cut_by_law(pauses: Sequence[OpenPause], bands: Bands) -> list[LawShare]:
    """The share under each law, with an interval over bunches (conversations, or known speakers). Empty without pauses."""
    return [_under(law, pauses, bands) for law in LAWS.values()] if pauses else []


def _under(law: PauseLaw, pauses: Sequence[OpenPause], bands: Bands) -> LawShare:
    band_of = np.array([_band(pause.length_ms, bands) for pause in pauses])
    number = np.bincount(band_of, minlength=len(bands))
    if not number.all():
        return LawShare(law=law.name)
    weight = np.array([law.between(*band) for band in bands]) / number
    share, interval = clustered_share([(pause.bunch, float(pause.cut)) for pause in pauses], weights=weight[band_of].tolist())
    return LawShare(law=law.name, share=share, interval=interval, effective_pauses=1 / float((weight**2 * number).sum()))


def _band(length_ms: float, bands: Bands) -> int:
    return max(k for k, (low, _) in enumerate(bands) if k == 0 or length_ms >= low)
