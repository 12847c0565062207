"""How many sessions a second the head of a cluster can store: `python benchmarks/fleet_head.py [contexts [sessions]]`.

Workers are many and the head is one: it unpacks, checks and stores each session that arrives, and writes the manifest that
names every context of the plan. So its rate is measured alone, without Ray and without calls: sessions of a plan with so many
contexts are packed as a worker packs them, and then taken one after another. Recordings are 700 kB of noise, as large as those
of a call.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.fleet import DELAY_MS, PROFILE, SESSION_BYTES
from harness.experiment import Experiment
from harness.fleet.collect import Gathering
from harness.fleet.shipping import packed_session
from harness.run.fixed_plan import fleet_of
from harness.run.plan import make_plan, new_manifest
from harness.shards.split import Share
from harness.store.run_store import RunStore
from harness.timing.figures import TurnTiming

DEFAULTS = (5000, 200)
SHARDS = 2
PARTS = 4


def pack_of(contexts: int, path: Path) -> Path:
    """A pack of so many contexts of one turn."""
    one = {"subset": "regular", "emotion": "sadness", "problem": "work"}
    turns = [{"role": "seeker", "text": "I do not know what to say to her."}]
    every = [{"id": f"c-{number:05}", **one, "turns": turns} for number in range(contexts)]
    # JSON is YAML without anchors, which packs may not have.
    path.write_text(json.dumps({"pack": "many", "source": "made here", "licence": "CC0-1.0", "contexts": every}))
    return path


def packed(place: Path, contexts: int, sessions: int) -> tuple[Gathering, list[bytes]]:
    """The head's empty run, and the first sessions of a shard as they would arrive."""
    profile = place / "waits.toml"
    profile.write_text(PROFILE.format(delay_ms=DELAY_MS))
    pack = pack_of(contexts, place / "many.yaml")
    plan = make_plan(Experiment(agents=(str(profile),), pack=str(pack)), Share((1, SHARDS)))
    fleet = fleet_of(plan)
    assert fleet is not None
    noise = np.random.default_rng(1).bytes(SESSION_BYTES)
    manifest = new_manifest(plan).model_copy(update={"fleet": fleet})
    with closing(RunStore.create(place / "shard", manifest, plan.contexts)) as store:
        found = []
        for key in plan.session_keys()[:sessions]:
            partial = store.partial_folder(key)
            (partial / "recording.json").write_text("{}")
            (partial / "agent.flac").write_bytes(noise)
            timing = TurnTiming(method="m", spoken_end_ms=1000.0, ttft_ms=300.0, ttfa_ms=600.0)
            session = store.commit_session(key, partial=partial, timing=timing, written_text="I hear you.", started_ns=1)
            found.append(packed_session(store, session.id))
    return Gathering(place / "run", fleet.plan, SHARDS), found


def asked(words: Sequence[str]) -> tuple[int, int]:
    """The contexts and sessions of a command line, each with its default."""
    given = [int(word) for word in words]
    contexts, sessions = (*given, *DEFAULTS[len(given) :])
    return contexts, sessions


def main() -> None:
    contexts, sessions = asked(sys.argv[1:])
    with tempfile.TemporaryDirectory() as place:
        head, arrived = packed(Path(place), contexts, sessions)
        took_s = []
        with head:
            for one in arrived:
                began_s = time.monotonic()
                head.take(one)
                took_s.append(time.monotonic() - began_s)
    rate = len(took_s) / sum(took_s)
    print(f"{contexts:,} contexts, {len(took_s)} sessions of {SESSION_BYTES / 1e6:.1f} MB: {rate:.1f} a second")
    if size := len(took_s) // PARTS:
        rates = [f"{size / sum(took_s[k * size : (k + 1) * size]):.1f}" for k in range(PARTS)]
        print(f"by quarter of them: {', '.join(rates)} a second")


if __name__ == "__main__":
    main()
