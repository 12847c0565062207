"""The plan of one call of a run or of a load test: which turns its caller speaks, after which history, on which line."""

from harness.agents.connections import ConnectionSpec
from harness.agents.profile import AgentProfile
from harness.caller import Greeting, SessionPlan
from harness.run.caller_turns import CallerTurns, history_of
from harness.run.plan import RunPlan
from harness.store.session import SessionKey


def call_plan(
    plan: RunPlan, turns: CallerTurns, key: SessionKey, connection: ConnectionSpec, greeting: Greeting | None
) -> SessionPlan:
    """The plan of the call that plays one session of a run, at its agent's sample rate."""
    profile: AgentProfile = plan.profile(key.agent)
    rate_hz = int(connection.options.get("input_rate_hz", 16_000))
    return SessionPlan(
        connection=connection,
        turns=turns.of(key, rate_hz),
        rate_hz=rate_hz,
        history=history_of(plan.context(key.context_id), key.mode, profile.takes_a_greeting),
        greeting=greeting,
        reply_ends_after_ms=profile.reply_silence_ms,
        full_duplex=profile.is_full_duplex,
        line_noise=turns.line_noise(key, rate_hz),
    )
