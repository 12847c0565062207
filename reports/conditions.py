"""The evaluation conditions in one line, for every picture, table and summary."""

from harness.reports.view import NOT_JOINT, PageView
from harness.reports.wording import judge_sentence
from harness.scenarios.context import by_a_person
from harness.store.judgment import reference_id
from harness.store.manifest import PEOPLE
from harness.wording import UNKNOWN_TEXT, counted


def conditions(view: PageView) -> str:
    """Validity, size, setting, machine, judges with their accuracy, and the human baseline (or its absence), in one line."""
    judges = "; ".join(judge_sentence(judge) for judge in view.judges) or "nobody"
    validity = "" if view.valid else "INVALID RUN. "
    differ = [what.lower() for what, _ in view.differences if what != NOT_JOINT]
    ran_on = "".join(f"Local latencies are of {machine}. " for machine in view.machines)
    agents = sum(not agent.seat for agent in view.agents)
    apart = f"The runs differ in: {', '.join(differ)}. " if differ else ""
    return (
        f"{validity}{view.run}: {counted(len(view.contexts), 'conversation')}, {counted(agents, 'agent')}"
        f"{_setting(view)}. "
        f"{ran_on}{apart}Judged by {judges}. {human_baseline(view)}"
    )


def _setting(view: PageView) -> str:
    """Pack, mode, line conditions, and how replies were read or heard, if they are the same in all runs."""
    facts = dict(view.provenance)
    names = ("Pack", "Mode", "Line conditions", "Replies rated", "Transcriber")
    return "".join(f", {name.lower()} {facts[name]}" for name in names if facts.get(name, UNKNOWN_TEXT) != UNKNOWN_TEXT)


def human_baseline(view: PageView) -> str:
    """The ratings of people's replies on this board, in words, or that there are none."""
    people = [
        f"{reference_id(r.system)} ({r.author}) {r.ratings['all'].elo.value:.0f}"
        for r in view.references
        if any(by_a_person(author) for author in r.author.split(", "))
        and "all" in r.ratings
        and r.ratings["all"].elo.value is not None
    ]
    people += [
        f"{agent.name} {agent.whole.rating.elo.value:.0f}"
        for agent in view.agents
        if agent.seat == PEOPLE and agent.whole.rating.elo.value is not None
    ]
    return f"Human baseline, Elo: {', '.join(people)}." if people else "Human baseline: none on this board."
