"""The plan of a run, made and checked before anything starts.

A run takes minutes, which a typing error should not cost. So every error in the user's input is found here,
with one line that says how to fix it, while no process runs and nothing has been written.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import soundfile
from pydantic import ValidationError

from harness.agents.address import AgentAddress
from harness.agents.profile import AgentProfile, load_profile
from harness.agents.secrets import redact
from harness.audio.conditions import ConditionError, parse_condition
from harness.calibrate.result import machine_id
from harness.caller import Limits
from harness.errors import UserError
from harness.experiment import Experiment
from harness.foreign_files import FileFault, read_text
from harness.foreign_problems import in_sentences, problems
from harness.foreign_yaml import Marked, parse_yaml
from harness.machine.gpu import gpu_facts
from harness.nearest import did_you_mean
from harness.scenarios.context import Context, spoken_indices
from harness.scenarios.pack import Pack, context_hash, load_pack
from harness.shards.split import WHOLE, Share, deal
from harness.store.events import EVERYDAY, CallerEvent, EventSettings, everyday
from harness.store.manifest import SEAT_KINDS, AgentEntry, RunManifest, machine_facts, package_versions
from harness.store.session import SessionKey
from harness.wording import command

WORD_S: Final = 0.4
"""Seconds per word: people in distress speak about 150 words a minute, pauses included."""
REPLY_S: Final = 10.0
"""Seconds of a call per turn in addition to the caller's words: the wait, the reply, and the silence that ends it."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A checked plan: the sessions and their order. `contexts` are those that are played here, `whole` those of the whole
    run: orders and events are drawn for the whole, so that a shard plays what the run would have played."""

    options: Experiment
    pack: Pack
    contexts: tuple[Context, ...]
    context_hashes: dict[str, str]
    profiles: tuple[AgentProfile, ...]
    events: EventSettings | None = None
    whole: tuple[Context, ...] = ()
    share: Share = WHOLE

    def profile(self, name: str) -> AgentProfile:
        """The profile of one agent of the plan."""
        return next(p for p in self.profiles if p.name == name)

    def context(self, context_id: str) -> Context:
        """One context of the plan."""
        return next(c for c in self.contexts if c.id == context_id)

    @property
    def is_spoken(self) -> bool:
        """False if all its agents write: then there is no call, and nothing to render or to calibrate."""
        return any(profile.kind != "text" for profile in self.profiles)

    @property
    def weights(self) -> frozenset[str]:
        """The weights that its agents load."""
        return frozenset(weight for profile in self.profiles for weight in profile.weights)

    @property
    def own_voices(self) -> frozenset[str]:
        """The voices that its agents speak with, which no caller has unchanged."""
        return frozenset(voice for profile in self.profiles for voice in profile.own_voices)

    def event_of(self, key: SessionKey) -> CallerEvent | None:
        """The event during the reply of one session; None in a run without events."""
        if self.events is None:
            return None
        return self.events.dealt([c.id for c in self.whole or self.contexts], key.context_id, key.repeat, self.options.seed)

    def session_keys(self) -> tuple[SessionKey, ...]:
        """All sessions in playing order: the shortest context first, for an early first figure, the others in the order of the
        pack, agents in random order within a context (seeded).

        If all were sorted by length, changes over a run would seem effects of length; one context at its head is harmless.
        Random order inside a context spreads changes over a run (temperature, other load) evenly over agents,
        while paired comparisons stay close in time.
        """
        order = random.Random(self.options.seed)
        here = {context.id for context in self.contexts}
        # A hash reads the whole profile; a run may have tens of thousands of sessions.
        hashes = {profile.name: profile.hash for profile in self.profiles}
        keys: list[SessionKey] = []
        for context in self._shortest_first(self.whole or self.contexts):
            for condition in self.options.conditions:
                for repeat in range(self.options.repeats):
                    profiles = list(self.profiles)
                    order.shuffle(profiles)
                    if context.id in here:
                        keys += [self._key(context, p.name, hashes[p.name], condition, repeat) for p in profiles]
        return tuple(key for key in keys if key.session_id not in self.share.elsewhere)

    def _shortest_first(self, contexts: tuple[Context, ...]) -> list[Context]:
        first = min(contexts, key=lambda context: lasting_s(context, self.pack, self.options.mode), default=None)
        return sorted(contexts, key=lambda context: context is not first)

    def _key(self, context: Context, agent: str, profile_hash: str, condition: str, repeat: int) -> SessionKey:
        return SessionKey(
            context_id=context.id,
            context_hash=self.context_hashes[context.id],
            agent=agent,
            profile_hash=profile_hash,
            mode=self.options.mode,
            condition=condition,
            repeat=repeat,
        )


def make_plan(options: Experiment, share: Share = WHOLE) -> RunPlan:
    """A plan made from the settings, after checking that their agents, pack and conditions exist.

    Raises:
        UserError: an unknown or malformed agent, pack or condition; one line that says how to fix it.
    """
    if not options.agents:
        raise UserError("--agent: name at least one; `harness agents` lists the shipped ones")
    if options.events is not None and options.barge_in_ms is not None:
        raise UserError("--events: a call has one event, so leave out --barge-in; an event `interruption` has the same effect")
    if seated := [agent for agent in options.agents if agent in {*SEAT_KINDS, *SEAT_KINDS.values()}]:
        raise UserError(f"--agent {seated[0]}: people answer a run that has been played: {command('people', 'answer', 'RUN')}")
    events = load_events(options.events) if options.events is not None else None
    profiles = tuple(_profile(agent) for agent in options.agents)
    pack = load_pack(options.pack)
    conditions = tuple(_condition_name(condition) for condition in options.conditions)
    _refuse_repeated("--agent", [p.name for p in profiles])
    taken = [p.name for p in profiles if p.name in SEAT_KINDS.values()]
    if taken:
        raise UserError(f"--agent: {taken[0]} is the name of replies in the supporter's seat; give the profile another name")
    _refuse_repeated("--condition", list(conditions))
    deaf = [p.name for p in profiles if not p.accepts_a_history]
    if deaf and options.mode == "seeded":
        raise UserError(f"--agent {deaf[0]}: accepts no history, so it cannot get a context; add --mode replay")
    asked = [p.name for p in profiles if p.kind == "text"]
    if asked and options.mode == "replay":
        raise UserError(f"--agent {asked[0]}: is a text model, and replay speaks every turn; leave it out or use --mode seeded")
    whole = _chosen(pack, options.contexts)[: options.limit]
    contexts = whole
    if share.shard is not None:
        number, of = share.shard
        contexts = deal(whole, of, options.mode)[number - 1]
    wordless = [c.id for c in whole if c.timing_alone]
    if asked and wordless:
        raise UserError(
            f"--agent {asked[0]}: is a text model, and {wordless[0]} of {pack.name} is a recording without text; leave it out"
        )
    return RunPlan(
        options=options.model_copy(update={"conditions": conditions}),
        pack=pack,
        contexts=contexts,
        context_hashes={c.id: context_hash(c) for c in contexts},
        profiles=profiles,
        events=events,
        whole=whole,
        share=share,
    )


def _profile(agent: str) -> AgentProfile:
    if (address := AgentAddress.parse(agent)) is not None and redact(agent) != agent:
        raise UserError(
            f"{address.kind} at {urlsplit(address.url).netloc or address.url}: no run stores an address's query, which may "
            "hold keys, and without it the run could not go on; add --save-profile FILE, or have it in a profile"
        )
    return load_profile(agent)


def load_events(named: str) -> EventSettings:
    """The events of a shipped set or of a file `events: [{sound, at_ms}, …]`.

    A run takes minutes, so an event that no call could play is refused before the first one, with file and instant.

    Raises:
        UserError: there is no such file, it is malformed, or an event is after the end of any call.
    """
    if named == EVERYDAY:
        return everyday()
    path = Path(named)
    try:
        text = read_text(path)
        marked = parse_yaml(text) if text.strip() else Marked(None, {})
    except FileFault as fault:
        unread = f"{fault}; name a YAML file, or {EVERYDAY}"
        where = (
            f"{path}, line {fault.line}: is not a YAML file that can be read ({unread})" if fault.line else f"{path}: {unread}"
        )
        raise UserError(f"--events {where}") from None
    given = marked.data
    if not isinstance(given, dict):
        raise UserError(
            f"--events {named}: begin with `events:` and list sounds with their instants, {{sound: cough, at_ms: 1500}}"
        )
    try:
        settings = EventSettings.model_validate({"events": (), **given, "source": named})
    except ValidationError as error:
        found = problems(error, EventSettings, given, "events")
        raise UserError(f"--events {in_sentences(named, found, marked.line)}") from error
    latest_ms = Limits().total_s * 1000
    for event in settings.events:
        if event.at_ms >= latest_ms:
            raise UserError(
                f"--events {named}: {event.sound} at {event.at_ms:g} ms is after the call's end, {latest_ms:g} ms at most "
                "after the caller's turn; place it earlier"
            )
    return settings


def new_manifest(plan: RunPlan) -> RunManifest:
    """The manifest of a run that is about to start."""
    return RunManifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness_version=version("heart-voice-harness"),
        pack=plan.pack.name,
        pack_source=plan.options.pack,
        pack_hash=plan.pack.hash,
        context_ids=[c.id for c in plan.contexts],
        agents=[
            AgentEntry(
                name=p.name,
                source=given,
                kind=p.kind,
                profile_hash=p.hash,
                profile_text=p.shown_text,
                family=p.family,
                runs_here=p.runs_here,
                threads=dict(p.threads),
            )
            for p, given in zip(plan.profiles, plan.options.agents, strict=True)
        ],
        experiment=plan.options,
        **plan.options.model_dump(include={"mode", "conditions", "repeats", "seed", "concurrency", "barge_in_ms"}),
        events=plan.events,
        budgets_ms=plan.options.budgets_ms,
        machine=machine_facts() | gpu_facts(),
        machine_id=machine_id(),
        versions=package_versions(),
    )


def default_folder(plan: RunPlan, under: Path) -> Path:
    """The default folder of a run, `runs/<time>-<agents>`, which sorts by time."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = "+".join(p.name for p in plan.profiles)[:60]
    shard = plan.share.shard
    part = f"-shard-{shard[0]}-of-{shard[1]}" if shard else ""
    return under / f"{stamp}-{names}{part}"


def lasting_s(context: Context, pack: Pack, mode: str) -> float:
    """The expected seconds of a call with one context of a pack, estimated from the caller's words."""
    turns = [context.turns[index] for index in spoken_indices(context, mode)]
    return sum(_spoken_s(pack.recording_of(turn), turn.text) + REPLY_S for turn in turns)


def _spoken_s(recording: Path | None, text: str) -> float:
    return len(text.split()) * WORD_S if recording is None else float(soundfile.info(str(recording)).duration)


def _chosen(pack: Pack, contexts: Sequence[str]) -> tuple[Context, ...]:
    unknown = sorted({*contexts} - {c.id for c in pack.contexts})
    if unknown:
        near = did_you_mean(unknown[0], (c.id for c in pack.contexts)) or "; harness scenarios show lists its contexts"
        raise UserError(f"pack {pack.name}: has no context {unknown[0]}{near}")
    return tuple(c for c in pack.contexts if not contexts or c.id in contexts)


def _condition_name(condition: str) -> str:
    try:
        return parse_condition(condition).name
    except ConditionError as error:
        raise UserError(f"--condition: {error}") from error


def _refuse_repeated(option: str, values: Sequence[str]) -> None:
    repeated = sorted({v for v in values if values.count(v) > 1})
    if repeated:
        raise UserError(f"{option} {repeated[0]}: named twice; name each once")
