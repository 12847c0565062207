"""What a first run must have left: exit 0, a TTFA for each call, a page with a chart and a sound, and no traceback.

`python tests/first_run.py FOLDER CODE`: FOLDER holds `out.txt`, `err.txt` and `work/runs/…`, CODE is how the run ended.
"""

import re
import sys
from pathlib import Path

import soundfile


def missing(folder: Path, code: int) -> list[str]:
    """A sentence for each thing that is not as it must be; none where all is well."""
    out, err = ((folder / name).read_text(encoding="utf-8") for name in ("out.txt", "err.txt"))
    pages = list(folder.glob("work/runs/*/report.html"))
    sounds = [soundfile.info(path) for path in folder.glob("work/runs/*/report-audio/**/*.flac")]
    calls = sum(map(int, re.findall(r"^Calls \((\d+)\)", err, re.MULTILINE)))
    checks = {
        f"it ended with {code}": code == 0,
        "a traceback stands in the output": "Traceback" not in out + err,
        # Progress names a call's TTFA once; the summary names it again where part of it may be owed to other programs.
        "a call has no TTFA": len(re.findall(r"\bTTFA [\d,]+ ms", err)) == max(1, calls),
        "there is not one page": len(pages) == 1,
        "the page has no chart": all("<svg" in page.read_text(encoding="utf-8") for page in pages),
        "there is no sound of over five seconds": any(sound.duration > 5 for sound in sounds),
    }
    return [words for words, well in checks.items() if not well]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    wrong = missing(place, int(sys.argv[2]))
    if wrong:
        print((place / "out.txt").read_text(encoding="utf-8"), (place / "err.txt").read_text(encoding="utf-8"), sep="\n")
    print("; ".join(wrong) or "README's first command: exit 0, a TTFA for each call, a page with a chart and a sound")
    sys.exit(bool(wrong))
