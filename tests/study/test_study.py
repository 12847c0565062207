"""A study file: what it gives, and one sentence for what is wrong in it."""

from pathlib import Path

import pytest

from harness.errors import UserError
from harness.study.read import read_study
from harness.study.study import Question, Study

WHOLE = '''\
name = "Amables"
who = "Departamento de Psicología"
contact = "estudio@example.org"
ethics = "CEI 2026/17"
language = "es"
consent = """
Primer párrafo.

Segundo <script>alert(1)</script>."""
completion_code = "K7 Q2"
return_link = "https://example.org/done?cc={code}"
helplines = ["Mi línea: 123"]

[[demographics]]
label = "¿Edad?"
kind = "number"

[[demographics]]
label = "¿País?"
kind = "choice"
choices = ["España", "México"]
'''


def written(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_gives_a_study(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, WHOLE))
    assert [label for label, _ in study.facts] == ["Quién te lo pide", "Preguntas y quejas", "Aprobación ética"]
    assert study.paragraphs == ("Primer párrafo.", "Segundo <script>alert(1)</script>.")
    assert study.way_back == "https://example.org/done?cc=K7%20Q2"
    assert study.lines_of_help == ("Mi línea: 123",)
    assert [question.kind for question in study.demographics] == ["number", "choice"]
    assert study.version != read_study(written(tmp_path, WHOLE.replace("2026/17", "2026/18"))).version


def test_without_a_file_nothing_is_invented() -> None:
    study = read_study(None)
    assert study == Study()
    assert (study.facts, study.paragraphs, study.demographics, study.way_back) == ((), (), (), "")
    assert study.texts.language == "en"
    assert any("988" in line for line in study.lines_of_help)


@pytest.mark.parametrize(
    ("change", "place", "says"),
    [
        (("contact =", "contcat ="), "line 3: contcat", "did you mean contact?"),
        (('kind = "number"', 'knid = "number"'), "line 16: demographics[0].knid", "did you mean kind?"),
        (('"number"', '"nummer"'), "line 16: demographics[0].kind", "'number'"),
        (('language = "es"', 'language = "fr"'), "line 5: language", "choose one of en, es"),
        (("https://", "http://"), "line 11: return_link", "https"),
        (("https://example", "javascript://example"), "line 11: return_link", "https"),
        (("https://example", "https://me:secret@example"), "line 11: return_link", "without a password"),
        (('completion_code = "K7 Q2"\n', ""), "line 1: ", "completion_code"),
        (('label = "¿País?"\n', ""), "line 18: demographics[1].label", "missing"),
        (('choices = ["España", "México"]', 'choices = ["España"]'), "line 18: demographics[1]", "two or more"),
        (('"¿País?"', '"¿Edad?"'), "line 1: ", "'¿Edad?'"),
        (('name = "Amables"\n', ""), "name", "missing"),
        (('name = "Amables"', 'name = "Amables'), "line 1: ", "not valid TOML"),
    ],
)
def test_a_fault_is_one_sentence_with_its_place(tmp_path: Path, change: tuple[str, str], place: str, says: str) -> None:
    path = written(tmp_path, WHOLE.replace(*change, 1))
    with pytest.raises(UserError) as caught:
        read_study(path)
    said = str(caught.value)
    assert said.startswith(f"--study {path}")
    assert "\n" not in said
    assert place in said
    assert says in said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.toml: cannot be read"):
        read_study(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("question", "given", "stored"),
    [
        (Question(label="Age", kind="number"), 41, 41),
        (Question(label="Age", kind="number"), True, None),
        (Question(label="Age", kind="number"), float("nan"), None),
        (Question(label="Age", kind="number"), "41", None),
        (Question(label="Land", kind="choice", choices=("a", "b")), "b", "b"),
        (Question(label="Land", kind="choice", choices=("a", "b")), "c", None),
        (Question(label="Work"), "  gardener ", "gardener"),
        (Question(label="Work"), "", None),
        (Question(label="Work"), None, None),
        (Question(label="Work"), "x" * 10_000, "x" * 500),
    ],
)
def test_an_answer_is_one_of_the_question_or_skipped(question: Question, given: object, stored: object) -> None:
    assert question.answered(given) == stored


def test_the_documented_study_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "people.md").read_text(encoding="utf-8")
    study = read_study(written(tmp_path, page.split("```toml\n")[1].split("```")[0]))
    assert set(study.model_dump()) == set(Study.model_fields)
    assert all(study.model_dump().values())
    assert study.way_back.endswith("?cc=K7Q2M9XD")
