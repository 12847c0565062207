"""A vote file on the disk: one page with its sound inside, or a folder that any host of files can serve.

What strangers said goes into the page as data that cannot become markup (`page_files`), and its policy allows its own script
and style, its own sounds and, where votes are posted, the one host for them. The look is the listening test's.
"""

import base64
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import jinja2
from markupsafe import Markup

from harness.errors import UserError
from harness.files import own_folder, write_whole
from harness.reports.page_files import page_file, safe_json, script_text
from harness.reports.vote_file.contents import VoteFile
from harness.store.paths import VOTE_FILES, VOTE_SOUNDS
from harness.store.run_store import RunStore

_LISTENS_LOOK: Final = "invited/pages/listen.css"


@dataclass(frozen=True, slots=True)
class Written:
    """Where the vote file and its key are. `size_bytes`: of the page with its sounds."""

    page: Path
    key: Path
    size_bytes: int


def post_address(text: str) -> str:
    """An address that votes can be posted to.

    Raises:
        UserError: it is none, or has a password, which every rater could read in the page.
    """
    try:
        parts = urlsplit(text)
        fit = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fit = False
    if not fit or any(letter.isspace() or letter in "\"'<>;,\\" for letter in text):
        raise UserError(f"--post-to {text}: is no address; give one such as https://example.org/votes")
    if parts.username or parts.password:
        raise UserError("--post-to: has a password in it, which everybody who opens the page could read; give one without")
    return text


def is_page(out: Path) -> bool:
    """True if this path is a page's, and not a folder's."""
    return out.suffix.lower() in (".html", ".htm")


def write_vote_file(store: RunStore, file: VoteFile, out: Path) -> Written:
    """Write the key into the run, and the page to `out`: one file if it ends in `.html`, else a folder.

    Raises:
        UserError: it cannot be written, or the folder has something else in it.
    """
    single = is_page(out)
    page = out if single else out / "index.html"
    key = store.folder / VOTE_FILES / f"{file.key.file}.json"
    try:
        if not single and out.exists() and any(out.iterdir()):
            raise UserError(f"--vote-file {out}: is not an empty folder; name a new one, or a file that ends in .html")
        own_folder(key.parent)
        write_whole(key, file.key.model_dump_json(by_alias=True, indent=1) + "\n")
        addresses = [] if single else [f"{VOTE_SOUNDS}/{secrets.token_hex(6)}.mp3" for _ in file.sounds]
        inside = file.sounds if single else ()
        page.parent.mkdir(parents=True, exist_ok=True)
        for address, content in zip(addresses, file.sounds, strict=bool(addresses)):
            own_folder((out / address).parent)
            write_whole(out / address, content)
        text = render(file, inside, addresses)
        write_whole(page, text)
    except OSError as error:
        raise UserError(f"--vote-file {error.filename or out}: cannot be written ({error.strerror}); name another") from error
    return Written(page, key, len(text.encode()) + sum(map(len, file.sounds if addresses else ())))


def render(file: VoteFile, inside: Sequence[bytes], addresses: Sequence[str]) -> str:
    """The page. `inside`: the sounds that it contains; `addresses`: of those beside it."""
    script, style = _script(), _style()
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader("harness.reports", of) for of in ("vote_file", "page/sections")]),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("vote_file.html.jinja").render(
        policy=_policy(script, style, beside=bool(addresses), post=file.data["post"]),
        style=Markup(style),
        script=Markup(script),
        data=Markup(safe_json(dict(file.data) | {"sounds": list(addresses)})),
        sounds=[Markup(base64.b64encode(content).decode("ascii")) for content in inside],
        notice=file.notice,
    )


def _policy(script: str, style: str, *, beside: bool, post: str | None) -> str:
    media = "'self' file:" if beside else "blob:"
    posted = "{0.scheme}://{0.netloc}".format(urlsplit(post)) if post else "'none'"
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; media-src {media}; "
        f"connect-src {posted}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _script() -> str:
    shared = "".join(page_file(f"script/{name}.js") for name in ("el", "words", "about_you")).replace("export const", "const")
    return script_text(shared + _own("vote_file.js"))


@cache
def _style() -> str:
    return files("harness.reports").joinpath(*_LISTENS_LOOK.split("/")).read_text(encoding="utf-8") + _own("vote_file.css")


def _own(name: str) -> str:
    return files("harness.reports").joinpath("vote_file", name).read_text(encoding="utf-8")
