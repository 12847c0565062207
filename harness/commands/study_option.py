"""`--study FILE`: the study that people are asked to take part in, the same option wherever people vote, listen or speak."""

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[
    Path | None,
    typer.Option(
        "--study",
        metavar="FILE",
        show_default="none",
        help="What people read first, in which language: who asks, contact, consent, questions, completion code (TOML).",
    ),
]
