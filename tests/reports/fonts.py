"""Fonts that the tests choose for their browser, so that nothing they measure depends on the fonts of a machine.

All are made from DejaVu Sans, which a package of the test extra carries. Noto Sans and Liberation Sans are DejaVu's letters
with the line height and the widths of those two, since to a layout nothing else of a font counts; the widths are those of
ASCII, and other letters are as wide as theirs are on average. A fourth is twice as wide as DejaVu, wider than any in use.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_CONFIG: Final = """<?xml version="1.0"?>
<fontconfig>
<dir>{folder}</dir>
<cachedir>{folder}/cache</cachedir>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match><edit name="family" mode="append_last"><string>{family}</string></edit></match>
<match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit></match>
</fontconfig>
"""
_KEPT: Final = (
    (0x20, 0x7E), (0xA0, 0xFF), (0x391, 0x3C9), (0x2010, 0x2026), (0x2190, 0x2193), (0x2212, 0x2212), (0x2248, 0x2265),
    (0x25A0, 0x25CF),
)  # fmt: skip
"""Characters that the pages can show: the fewer, the sooner a font is made."""
_NOTO: Final = (
    "260 269 408 646 572 831 732 225 300 300 551 572 268 322 268 372 572 572 572 572 572 572 572 572 572 572 268 268 572 572 "
    "572 434 899 639 650 632 730 556 519 728 741 339 273 619 524 907 760 781 605 781 622 549 556 731 600 930 586 566 572 329 "
    "372 329 572 444 281 561 615 480 615 564 344 615 618 258 258 534 258 935 618 605 615 615 413 479 361 618 508 786 529 510 "
    "470 380 551 380 572"
)
_NOTO_BOLD: Final = (
    "260 286 472 646 572 901 750 266 339 339 545 572 285 322 285 413 572 572 572 572 572 572 572 572 572 572 285 285 572 572 "
    "572 477 897 690 672 637 740 560 549 724 765 389 331 664 565 943 813 796 628 796 660 551 579 756 650 967 667 624 579 331 "
    "413 331 572 411 362 604 633 514 633 591 387 633 657 305 305 620 305 982 657 619 633 633 454 497 434 657 569 856 578 569 "
    "488 394 551 394 572"
)
_LIBERATION: Final = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584 "
    "584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 "
    "278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 "
    "500 334 260 334 584"
)
_LIBERATION_BOLD: Final = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584 584 "
    "584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667 611 333 "
    "278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 "
    "500 389 280 389 584"
)
"""Widths of the characters from space to tilde, in thousandths of an em."""


@dataclass(frozen=True, slots=True)
class Face:
    """What a layout sees of a font: ems above and below the line, and widths, of all letters or as a factor of DejaVu's."""

    family: str
    ascent: float
    descent: float
    regular: str = ""
    bold: str = ""
    factor: float = 1.0


DEJAVU: Final = Face("DejaVu Sans", 0.928, 0.236)
NOTO: Final = Face("Like Noto Sans", 1.069, 0.293, _NOTO, _NOTO_BOLD)
LIBERATION: Final = Face("Like Liberation Sans", 0.905, 0.212, _LIBERATION, _LIBERATION_BOLD)
TWICE: Final = Face("Twice as Wide", 0.928, 0.236, factor=2.0)
FACES: Final = (DEJAVU, NOTO, LIBERATION, TWICE)


def chosen(face: Face, folder: Path) -> dict[str, str]:
    """The environment in which a browser has this font and no other; `folder` takes the fonts."""
    folder.mkdir(parents=True, exist_ok=True)
    for style in ("", "-Bold"):
        there = folder / f"Sans{style}.ttf"
        if face is DEJAVU:
            there.symlink_to(_carried(f"DejaVuSans{style}.ttf"))
            (folder / f"Mono{style}.ttf").symlink_to(_carried(f"DejaVuSansMono{style}.ttf"))
        else:
            _made(face, style).save(there)
    config = folder / "fonts.conf"
    config.write_text(_CONFIG.format(folder=folder, family=face.family), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(config)}


@cache
def _carried(name: str) -> Path:
    """A font file of matplotlib, which need not be imported for it."""
    spec = find_spec("matplotlib")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "mpl-data" / "fonts" / "ttf" / name


def _made(face: Face, style: str) -> Any:
    """DejaVu with the heights and widths of another font."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(_carried(f"DejaVuSans{style}.ttf"))
    for table in {"FFTM", "GDEF", "GPOS", "GSUB", "kern"} & set(font.keys()):
        del font[table]
    keep = Subsetter(Options(hinting=False, notdef_outline=True))
    keep.populate(unicodes=[code for low, high in _KEPT for code in range(low, high + 1)])
    keep.subset(font)
    _widen(font, _factor(font, face, style))
    em = font["head"].unitsPerEm
    up, down = round(face.ascent * em), round(face.descent * em)
    font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap = up, -down, 0
    os2 = font["OS/2"]
    os2.sTypoAscender, os2.sTypoDescender, os2.sTypoLineGap, os2.usWinAscent, os2.usWinDescent = up, -down, 0, up, down
    for number in (1, 4, 6):
        words = face.family + style.replace("-", " ") * (number != 1)
        font["name"].setName(words.replace(" ", "") if number == 6 else words, number, 3, 1, 0x409)
    font["name"].names = [entry for entry in font["name"].names if entry.platformID == 3 and entry.nameID in (1, 2, 4, 6)]
    return font


def _factor(font: Any, face: Face, style: str) -> Callable[[str], float]:
    """From the name of a glyph to how much wider than DejaVu's it is."""
    listed = face.bold if style else face.regular
    if not listed:
        return lambda _: face.factor
    em, cmap, advances = font["head"].unitsPerEm, font.getBestCmap(), font["hmtx"]
    wanted = {cmap[32 + k]: int(width) * em / 1_000 for k, width in enumerate(listed.split())}
    mean = sum(wanted.values()) / sum(advances[glyph][0] for glyph in wanted)
    return lambda glyph: wanted[glyph] / advances[glyph][0] if glyph in wanted else mean


def _widen(font: Any, factor: Callable[[str], float]) -> None:
    """Every glyph drawn anew with its own factor across, since a letter with an accent is made of two that have others."""
    from fontTools.pens.transformPen import TransformPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    glyphs, advances = font.getGlyphSet(), font["hmtx"]
    drawn = {}
    for name in font.getGlyphOrder():
        by = factor(name)
        pen = TTGlyphPen(None)
        _draw(glyphs, name, TransformPen(pen, (by, 0, 0, 1, 0, 0)))
        drawn[name] = pen.glyph(), (round(advances[name][0] * by), round(advances[name][1] * by))
    for name, (glyph, advance) in drawn.items():
        font["glyf"][name], advances[name] = glyph, advance


def _draw(glyphs: Any, name: str, pen: Any) -> None:
    from fontTools.pens.recordingPen import DecomposingRecordingPen

    lines = DecomposingRecordingPen(glyphs)
    glyphs[name].draw(lines)
    lines.replay(pen)
