"""The table of figures in docs/measurement.md: `python -m tests.harness.figures.figures_table` writes it from the catalogue."""

from pathlib import Path

from harness.turns.catalogue import CATALOGUE

PAGE = Path(__file__).parents[3] / "docs" / "measurement.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


def table() -> str:
    """A row a figure, in Markdown."""
    rows = ["| figure | is | needs |", "|---|---|---|"]
    for figure in CATALOGUE.values():
        paths = ", ".join(f"`{path}`" for path in figure.paths)
        rows.append(f"| {paths} | {figure.title} | {', '.join(figure.needs)} |")
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    """The page with its table as the catalogue has it."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
