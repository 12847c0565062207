"""A page for invited people from its template: in the study's language, and the study's own words as text, never as markup."""

from collections.abc import Sequence
from functools import cache

import jinja2
from markupsafe import Markup

from harness.reports.page_files import safe_json
from harness.study.study import Study


def rendered(source: str, study: Study, sections: Sequence[str] = (), **more: object) -> str:
    """The page. Its template has `t` (`{{ t("shared.begin") }}`), `study`, and `words`, the data of its scripts: `sections` of
    the language's texts beside those that every page needs."""
    texts = study.texts
    words = texts.for_script("shared", "study", "invited", *sections) | {"help": study.lines_of_help}
    template = _environment().from_string(source)
    return template.render(t=texts, study=study, words=Markup(safe_json(words)), **more)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.reports", "invited/pages"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
