"""`harness people`, as it is asked for in a folder of somebody's own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.conftest import Finished


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("record", "--pack", "no-such-pack"), "no pack or file 'no-such-pack'"),
        (("record", "--host", "0.0.0.0"), "add --public"),
        (("record", "--make-pack"), "nobody has been recorded here"),
        (("record", "--expires", "soon"), "--expires soon"),
        (("answer", "nowhere"), "holds no run"),
        (("list", "nowhere"), "nobody has been recorded here"),
        (("withdraw", "p123456", "nowhere"), "nobody has been recorded here"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    harness_here: Callable[..., Finished], tmp_path: Path, asked: tuple[str, ...], said: str
) -> None:
    done = harness_here("people", *asked)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
