"""Agreement as programs read it: what stands under `agreement` and `beside_people` of `harness rank --json`."""

from typing import Any

from harness.ranking.agreement import Agreement
from harness.ranking.ballot_figures import Figure
from harness.ranking.beside_people import BesidePeople
from harness.ranking.board import Interval


def agreement_object(found: Agreement) -> dict[str, Any]:
    """All figures of `Agreement`; null where the rows cannot know."""
    same = found.equivalence
    single = {
        name: _figure(getattr(found, name))
        for name in (
            "judge_human",
            "judge_human_ambiguous",
            "inter_human",
            "judges_with_one_human",
            "fleiss_kappa_humans",
            "fleiss_kappa_judges",
            "krippendorff_alpha_humans",
            "krippendorff_alpha_judges",
            "cohen_kappa",
        )
    }
    return {
        **single,
        "cross_judge": {" | ".join(names): _figure(f) for names, f in found.cross_judge.items()},
        "cross_judge_kappa": {" | ".join(names): _figure(f) for names, f in found.cross_judge_kappa.items()},
        "three_way": {" | ".join(names): _figure(f) for names, f in found.three_way.items()},
        "fleiss_kappa_by_axis": {axis: _figure(f) for axis, f in found.fleiss_kappa_by_axis.items()},
        "subsampling": {str(k): v for k, v in found.subsampling.items()},
        "judges_per_pair": {str(k): v for k, v in found.judges_per_pair.items()},
        "equivalence": None
        if same is None
        else {
            "difference": same.difference,
            "interval_90": _interval(same.interval_90),
            "margin": same.margin,
            "equivalent": same.equivalent,
        },
    }


def beside_people_object(found: BesidePeople) -> dict[str, Any]:
    """Each judge against the people, and the two boards."""
    return {
        "judges": {
            each.judge: {
                "with_ties": _figure(each.with_ties),
                "without_ties": _figure(each.without_ties),
                "kappa": _figure(each.kappa),
                "at_chance": each.at_chance,
            }
            for each in found.judges
        },
        "elo_by_people": found.people_elo,
        "elo_by_judges": found.judges_elo,
        "board_correlation": found.board_correlation,
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else {"value": figure.value, "interval": _interval(figure.interval), "pairs": figure.pairs}


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
