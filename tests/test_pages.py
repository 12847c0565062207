"""Pages lead somewhere and can be read in one sitting."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as its forge makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    lost = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not link.startswith("http") and (not target.exists() or (anchor and anchor not in anchors(target))):
                lost.append(f"{page.relative_to(ROOT)}: {link}")
    assert lost == []


def test_no_page_is_longer_than_3000_words() -> None:
    assert len(PAGES) > 50
    assert [page.name for page in PAGES if len(page.read_text(encoding="utf-8").split()) > 3_000] == []
