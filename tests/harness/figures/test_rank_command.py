"""The ranking from the command line: judges that failed are left out, and a user's own scores join it."""

from pathlib import Path
from typing import Any

import pytest

from harness.store.judgment import JudgeCheck, Judgment, Winner
from harness.store.run_store import RunStore
from tests.harness.judging.conftest import call, told
from tests.judged import put


@pytest.fixture
def simulate_rows() -> list[Judgment]:
    return [
        Judgment(
            context=f"c{n:02}", subset="regular", system_a=f"s{a}", system_b=f"s{b}", source="judge", judge="judge-0",
            winner="b" if (n + a + b) % 3 else "a", strength=2,
        )
        for n in range(12)
        for a in range(4)
        for b in range(a + 1, 4)
    ]  # fmt: skip


def test_a_failed_judge_is_left_out_of_the_ranking_until_asked_for(capsys: pytest.CaptureFixture[str], played: Path) -> None:
    store = RunStore.open(played)
    verdicts: tuple[tuple[str, Winner | None], ...] = (("fair@1", None), ("failed@1", "a"), ("failed@1", "a"))
    rows = [
        Judgment(
            context=f"c-{n:02}", subset="regular", system_a="flat", system_b="kind", source="judge", judge=judge,
            winner=winner or ("b" if n else "a"), strength=3, presentation="heard_text",
        )
        for n in range(12)
        for judge, winner in verdicts
    ]  # fmt: skip
    put(store, rows)
    base: dict[str, Any] = {"family": "f", "pairs": 60, "accuracy_interval": None, "flip_rate": 0.0}
    store.add_judge_check(JudgeCheck(judge="fair@1", accuracy=0.9, trusted=True, **base))
    store.add_judge_check(JudgeCheck(judge="failed@1", accuracy=0.4, trusted=False, excluded=True, **base))
    store.close()
    _, board = told(capsys, "rank", played)
    assert board["systems"]["kind"]["elo"] > board["systems"]["flat"]["elo"]
    assert set(board["judges"]) == {"fair@1"}
    assert board["judges"]["fair@1"]["accuracy"] == 0.9
    _, everybody = told(capsys, "rank", played, "--keep-excluded")
    assert everybody["systems"]["kind"]["elo"] < everybody["systems"]["flat"]["elo"]


def test_a_users_scores_and_families_join_the_ranking_and_bad_ones_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, simulate_rows: list[Judgment]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(row.model_dump_json() + "\n" for row in simulate_rows))
    table = tmp_path / "scores.csv"
    table.write_text("system,family,index\ns0,llama,10\ns1,qwen,20\ns2,qwen,30\ns3,gpt,\njudge-0,qwen,\n")
    _, board = told(capsys, "rank", path, "--scores", table, "--draws", "50")
    assert board["external"]["index"]["pearson"]["systems"] == 3
    assert board["audits"]["self-preference"]["rows"] > 0
    assert any("not measured here" in note for note in board["warnings"])
    for text, says in (("name\nx\n", ":|line 1"), ("system,n\nx,many\n", "many"), ("system\nx\nx\n", "twice")):
        table.write_text(text)
        code, _, error = call(capsys, "rank", path, "--scores", table)
        assert code == 2
        assert str(table) in error
        assert any(word in error for word in says.split("|"))
