"""README's picture of a joint report: figures that are invented, drawn by the code that draws every report's.

Run: `python -m benchmarks.readme_picture`. It is the same drawing each time.
"""

from pathlib import Path

from harness.reports.charts import elo_latency_chart, elo_latency_points
from tests.reports.invented import invented_view

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "joint.svg"


def drawn() -> str:
    """The joint chart of four invented agents on paper's colours."""
    view = invented_view()
    drawing = str(
        elo_latency_chart.draw(
            view, elo_latency_points.default_choice(view), elo_latency_chart.PICTURE, elo_latency_chart.on_paper
        )
    )
    # White behind it: dark words on a reader's dark page would be none.
    return drawing.replace("<svg ", '<svg style="background: #fff" ', 1) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
