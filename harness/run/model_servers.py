"""The model servers of a run's agents whose metrics are read during calls: those that profiles name under `[metrics]`."""

from collections.abc import Iterable
from functools import partial

from harness.agents.profile import AgentProfile
from harness.run.running_agents import RunningAgents
from harness.servers.scraper import Target


def model_servers(profiles: Iterable[AgentProfile], running: RunningAgents) -> list[Target]:
    """The servers of running agents, in the order of the profiles."""
    return [
        Target(profile.name, found.stage, partial(_address, found.url, running, profile.name), found.server, found.model)
        for profile in profiles
        for found in profile.metrics
    ]


def _address(given: str | None, running: RunningAgents, agent: str) -> str | None:
    """The address in the profile, or the one that the agent prints: another after each of its starts."""
    return given or running.metrics_url(agent)
