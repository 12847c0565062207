"""What agents computed on stands with their latencies: from the processor's own words, and never for an agent elsewhere."""

from pathlib import Path

import pytest

from harness.agents.profile import load_profile, parse_profile
from harness.experiment import Experiment
from harness.figures.machine import machine_of
from harness.run.plan import make_plan, new_manifest
from harness.store.manifest import instruction_sets
from tests.harness.conftest import peer

REMOTE = 'kind = "text"\nmodel = "theirs"\nbase_url = "https://example.org/v1"\n'


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("flags\t\t: fpu sse2 avx avx2 fma", "AVX, AVX2"),
        ("flags\t\t: avx avx2 avx512f avx512_vnni amx_tile amx_int8", "AVX, AVX2, AVX-512, VNNI, AMX"),
        ("flags\t\t: avx avx2 avx_vnni", "AVX, AVX2, VNNI"),
        ("Features\t: fp asimd asimddp", "NEON, dot product"),
        ("flags\t\t: fpu sse2", "none that models use"),
        ("model name\t: unspoken", ""),
    ],
)
def test_instruction_sets_are_read_from_what_the_processor_says(tmp_path: Path, line: str, found: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\n{line}\npower management:\n", encoding="utf-8")
    assert instruction_sets(cpuinfo) == found
    assert instruction_sets(tmp_path / "absent") == ""


def test_only_parts_that_compute_here_have_threads() -> None:
    assert load_profile("polaris-like").threads == {"recogniser": 1, "model": 2, "prompts": 2, "voice": 1}
    text = (
        'kind = "cascade"\n[cascade.llm]\nmodel = "theirs"\nbase_url = "https://example.org/v1"\n[cascade.tts]\nthreads = 3\n'
    )
    assert parse_profile(text, Path("mine.toml")).threads == {"recogniser": 2, "voice": 3}
    remote = parse_profile(REMOTE, Path("theirs.toml"))
    assert (remote.runs_here, dict(remote.threads)) == (False, {})


def test_a_machine_describes_the_agents_that_ran_on_it_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.toml"
    theirs.write_text(REMOTE, encoding="utf-8")
    agents = ("baseline", "smollm2-text", str(peer("raw-pcm-echo")), str(theirs))
    machine = machine_of(new_manifest(make_plan(Experiment(agents=agents, limit=1))))
    assert machine is not None
    assert set(machine.threads) == {"baseline", "smollm2-text", "raw-pcm-echo"}
    assert "threads of baseline: recogniser 2, model 2, prompts 2, voice 2" in machine.words
    assert "threads of raw-pcm-echo: not known" in machine.words
    assert machine_of(new_manifest(make_plan(Experiment(agents=(str(theirs),), limit=1)))) is None
