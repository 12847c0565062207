"""A ranking as CSV and as Markdown, for a spreadsheet and for a page.

Names are text of others: in Markdown possible markup is escaped.
"""

import re

import numpy as np

from harness.printable import printable
from harness.ranking.board import Board, Ends, QualityState
from harness.ranking.joint import JointFigure
from harness.ranking.judge_vs_person import in_words
from harness.ranking.ranking import Ranking
from harness.store.judgment import AXES
from harness.tables.csv_text import csv_text
from harness.timing.figures import OVER_LIMIT_TEXT
from harness.timing.quantiles import Quantiles
from harness.wording import elo_band

NOTABLE = 0.05
"""Adjusted p under which a bias of the verdicts is shown on the terminal; all biases are in the JSON."""

_MARKUP = re.compile(r"([\\|`*_<>\[\]&~#])")


def board_csv(board: Board, joint: JointFigure | None = None, quality_state: QualityState | None = None) -> str:
    """One row per system, best first; empty where not known. Elo, shares in 0–1, milliseconds."""
    points = {p.system: p for p in joint.points} if joint else {}
    joint_columns = ["ttfa_p50_ms", "ttfa_p50_low", "ttfa_p50_high", "p_frontier", "p_best_within_budget"]
    head = ["system", "elo", "low", "high", "band_low", "band_high", "win_rate", *AXES, "judgments", "contexts", "part"]
    head += (joint_columns if joint else []) + (["quality_state"] if quality_state else [])
    rows = []
    for row in board.systems:
        cells: list[object] = [
            row.system,
            row.quoted,
            *_pair(row.interval),
            *_pair(row.band),
            row.win_rate,
            *(row.axes.get(axis, "") for axis in AXES),
            row.judgments,
            row.contexts,
            row.part,
        ]
        if joint:
            p = points.get(row.system)
            cells += (
                [""] * 5 if p is None else [p.latency.p50, *_pair(p.latency.p50_interval), p.p_frontier, p.p_best_within_budget]
            )
        if quality_state:
            cells.append(quality_state)
        rows.append(cells)
    return csv_text(head, rows)


def ranking_markdown(ranking: Ranking) -> str:
    """People's preference between each two agents, and the board."""
    preferred = "".join(f"{_escape(one.in_words)}.\n" for one in ranking.head_to_head)
    board = board_markdown(ranking.board, ranking.joint, ranking.quality_words, ranking.rated_on_words)
    return f"{preferred}\n{board}" if preferred else board


def board_markdown(board: Board, joint: JointFigure | None = None, quality_words: str = "", rated_on: str = "") -> str:
    """A table, best first, where there is a system; then its circumstances, the board's state and its warnings as sentences."""
    points = {p.system: p for p in joint.points} if joint else {}
    axes = [axis for axis in AXES if any(axis in row.axes for row in board.systems)]
    head = ["system", "Elo", "95 %", "wins", *axes, "judgments"] + (
        ["TTFA p50", "P(frontier)", "P(best in budget)"] if joint else []
    )
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for row in board.systems:
        cells = [
            _escape(row.system) + (f" (group {row.part})" if board.parts > 1 else ""),
            "–" if row.quoted is None else f"{row.quoted:.0f}",
            elo_band(*row.interval or (None, None)) or "–",
            f"{100 * row.win_rate:.1f} %",
            *(f"{100 * row.axes[axis]:.1f} %" if axis in row.axes else "–" for axis in axes),
            str(row.judgments),
        ]
        if joint:
            p = points.get(row.system)
            cells += ["–"] * 3 if p is None else [_ms(p.latency), _chance(p.p_frontier), _chance(p.p_best_within_budget)]
        lines.append("| " + " | ".join(cells) + " |")
    made = f"{board.method}; {board.judgments} judgments in {board.contexts} contexts; presentation: {board.presentation}."
    lines = [*lines, "", made] if board.systems else []
    lines += [_escape(note) for note in (rated_on, f"{quality_words}." if quality_words else "", *board.warnings) if note]
    return "\n".join(lines) + "\n"


def extras(ranking: Ranking) -> str:
    """Text beside the board on a terminal: the effect of a length term, agreement of judges and people, biases of verdicts,
    other scores.
    """
    lines = _length_lines(ranking)
    lines += [
        f"{name}: {figure.value:.1%} of {figure.pairs} pairs{_around(figure.interval, '.1%')}"
        for name, figure in (
            ("judges' majority with people's", ranking.agreement.judge_human),
            ("people with one another", ranking.agreement.inter_human),
        )
        if figure is not None
    ]
    lines += in_words(ranking.beside_people)
    lines += [
        f"verdicts depend on {audit.name}: {audit.effect:+.2f} log-odds{_around(audit.interval, '+.2f')}, "
        f"adjusted p = {audit.p_adjusted:.3f}"
        for audit in ranking.audits
        if audit.p_adjusted is not None and audit.p_adjusted < NOTABLE
    ]
    lines += [
        f"Elo with {name}: Pearson {pearson.value:+.2f}{_around(pearson.interval, '+.2f')}, "
        f"Spearman {spearman.value:+.2f}, {pearson.systems} systems"
        for name, (pearson, spearman) in ranking.external.items()
    ]
    return "".join(f"{printable(' '.join(line.split()), one_line=True)}\n" for line in lines)


def _length_lines(ranking: Ranking) -> list[str]:
    other = ranking.with_length
    if other is None or other is ranking.board:
        return [ranking.length_words] if other is not None else []
    elo = ", ".join(f"{row.system} {row.quoted:.0f}" for row in other.systems if row.quoted is not None) or "no Elo is known"
    twice = np.log(2) * other.terms["length"]
    return [f"{ranking.length_words} With a length term ({twice:+.2f} log-odds for twice the words): {elo}."]


def _chance(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _around(interval: tuple[float, float] | None, form: str) -> str:
    return "" if interval is None else f" [{interval[0]:{form}}, {interval[1]:{form}}]"


def _ms(latency: Quantiles) -> str:
    if latency.p50_over_limit:
        return OVER_LIMIT_TEXT
    return "–" if latency.p50 is None else f"{latency.p50:.0f} ms"


def _pair(interval: Ends | None) -> tuple[object, object]:
    return ("", "") if interval is None else interval


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split()), one_line=True))
