"""`harness scenarios show PACK --out FILE`: one page on which callers can be judged by ear."""

import base64
import io
import re
from pathlib import Path

import pytest
import soundfile
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import UserError

PACK = """pack: heard
source: authored here
licence: CC0-1.0
contexts:
  - id: one
    subset: regular
    emotion: sadness
    problem: grief
    voice: male
    turns:
      - {role: seeker, text: "I kept his hat & coat. <pause 400> It still smells of him."}
"""


@pytest.mark.models
def test_each_voice_says_the_turns_and_the_page_says_how_each_stretch_ends(tmp_path: Path) -> None:
    pack, page = tmp_path / "pack.yaml", tmp_path / "callers.html"
    pack.write_text(PACK)
    asked = ["scenarios", "show", str(pack), "--out", str(page), "--voice", "joe", "--voice", "tom", "--turns", "3"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    sounds = re.findall(r'src="data:audio/mpeg;base64,([^"]+)"', text)
    assert len(sounds) == 2
    lengths = [soundfile.info(io.BytesIO(base64.b64decode(sound))).duration for sound in sounds]
    assert min(lengths) > 1.5
    assert "hat &amp; coat" in text
    assert "pause 400 ms" in text
    assert "The speech is synthetic" in text


def test_bad_asking_is_one_line(tmp_path: Path) -> None:
    page = ["--out", str(tmp_path / "page.html")]
    for arguments, said in (
        (["heart-mini", *page, "--voice", "nobody"], "--voice nobody: unknown voice"),
        (["heart-mini", *page, "--turns", "0"], "--turns 0"),
        (["heart-mini", "--out", str(tmp_path / "no" / "page.html")], "there is no folder"),
    ):
        with pytest.raises(UserError, match=said):
            CliRunner().invoke(app, ["scenarios", "show", *arguments], catch_exceptions=False)
