"""A run on recordings of speakers who differ strongly: each turn is a conversation of its own."""

from pathlib import Path

from harness.recording.sitting import Sitting, save_sitting
from harness.scenarios.context import Context, Turn
from harness.scenarios.speakers import Speaker, source_of
from harness.store.manifest import AgentEntry, RunManifest
from harness.store.run_store import RunStore
from harness.store.session import SessionKey
from harness.timing.figures import Endpointing, InnerPause, TurnTiming

WAITS_MS = {"quick": 300.0, "slow": 700.0}


def run_of_speakers(
    folder: Path, speakers: int = 10, turns: int = 12, *, sourced: bool = True, unknown: int = 0, automatic: bool = False
) -> RunStore:
    """A run of two agents whose waits, and cuts of pauses, depend on the speaker and hardly on the turn.

    `sourced`: the sources name the speakers. `unknown`: the number of the last speakers whose sources do not.
    """
    items, of_speaker = [], {}
    for s in range(speakers):
        for t in range(turns):
            name = f"s{s:02}-t{t:02}"
            of_speaker[name] = s, t
            known = source_of(Speaker(f"p{s}", automatic=automatic), f"topic-{t}", topic=True, words_by=None)
            items.append(
                Context(
                    id=name, subset="regular", emotion="sadness", problem="work", situation="A day.",
                    turns=(Turn(role="seeker", text="It was <pause 400> a long day."),), references=(),
                    source=known if sourced and s < speakers - unknown else "test", licence="CC0-1.0",
                )
            )  # fmt: skip
    manifest = RunManifest(
        created="2030-01-01T00:00:00Z", harness_version="0", pack="test", pack_source="test", pack_hash="0" * 64,
        context_ids=[c.id for c in items], mode="seeded", conditions=["clean"], repeats=1, seed=7,
        agents=[AgentEntry(name=n, kind="cascade", profile_hash="h", profile_text="") for n in WAITS_MS],
    )  # fmt: skip
    store = RunStore.create(folder, manifest, items)
    for number, context in enumerate(items):
        for agent, wait_ms in WAITS_MS.items():
            key = SessionKey(context.id, "h" * 64, agent, "h", "seeded", "clean", 0)
            partial = store.partial_folder(key)
            (partial / "recording.json").write_text("{}")
            timing = _timing(wait_ms, *of_speaker[context.id])
            store.commit_session(key, partial=partial, timing=timing, written_text="I see.", started_ns=number)
    return store


def answered_by_people(store: RunStore, persons: int = 4) -> RunStore:
    """`store`, with people's replies to each conversation. Persons hardly differ; the callers whom they answer do."""
    entry = AgentEntry(name="people", kind="person", profile_hash="q", profile_text="", runs_here=False)
    store.set_manifest(store.manifest.model_copy(update={"agents": [*store.manifest.agents, entry]}))
    for number, context in enumerate(store.contexts()):
        key = SessionKey(context.id, "h" * 64, "people", "q", "seeded", "clean", 0)
        partial = store.partial_folder(key)
        (partial / "recording.json").write_text("{}")
        save_sitting(Sitting(f"person-{number % persons}", False, f"sitting-{number % persons}", f"take-{number}"), partial)
        speaker, turn = (int(part[1:]) for part in context.id.split("-"))
        store.commit_session(key, partial=partial, timing=_timing(100.0, speaker, turn), started_ns=number)
    return store


def _timing(wait_ms: float, speaker: int, turn: int) -> TurnTiming:
    wait_ms += 60.0 * speaker + turn
    # Each third speaker pauses so long that most of their pauses are cut; nobody else's is.
    cut = speaker % 3 == 0 and turn % 4 > 0
    pause = InnerPause(-2_000, -1_600, "cut" if cut else "kept", True, 0, None)
    return TurnTiming(
        "m", 0.0, wait_ms, pauses_marked=1, cut_in=cut, ttft_ms=wait_ms - 100.0,
        endpointing=Endpointing("e", (pause,), wait_ms),
    )  # fmt: skip
