"""The report's section on listening tests: results in words and tables."""

from harness.reports.listening.results import ListeningResults, listening_results
from harness.reports.view import Estimate, ListeningView, TableView
from harness.reports.wording import elo, elo_interval, share_interval, system_name
from harness.statistics.interval import FEWEST_CLUSTERS
from harness.store.run_store import RunStore
from harness.wording import UNKNOWN_TEXT, counted, share

_KIND = {"ab": "which of two is better", "acr": "how good each is"}
_MEDIUM = {"text": "read", "sound": "heard"}
_DELAYS = {"without": "without delays", "with": "with their delays", "both": "with and without their delays"}
_PRESENTATION = {
    "heard_text": "read as text",
    "written": "read as written",
    "audio": "heard without delay",
    "audio_with_delay": "heard with its delay (never in the joint figure)",
}


def listening_views(store: RunStore) -> tuple[ListeningView, ...]:
    """One view for each test of the run."""
    return tuple(_view(found) for found in listening_results(store))


def _view(found: ListeningResults) -> ListeningView:
    design = found.design
    how = _MEDIUM[design.medium] + (f", {_DELAYS[design.delays]}" if design.medium == "sound" else "")
    excluded = [rater for rater in found.quality if rater.excluded and rater.answers]
    votes = sum(rater.answers for rater in found.quality)
    rated = [rater for rater in found.quality if rater.answers]
    people = f"{counted(len(rated), 'rater')}, {counted(votes, 'vote')}"
    if begun := len(found.quality) - len(rated):
        people += f"; {begun} more began and rated nothing"
    notes = [f"{rater.rater} is left out: {'; '.join(rater.reasons)}." for rater in excluded]
    if len(rated) - len(excluded) < FEWEST_CLUSTERS:
        notes.append(f"Fewer than {FEWEST_CLUSTERS} raters count, so figures over raters have no interval.")
    if found.completions:
        notes.append(f"{counted(found.completions, 'reply', 'replies')} by people were collected.")
    if found.with_judges is not None:
        band = share_interval(found.with_judges)
        figure = share(found.with_judges.value) + (f" ({band})" if band else "")
        notes.append(f"The judges' majority agrees with the people's on {figure} of pairs that both read.")
    tables = [table for table in (_elo(found), _opinions(found), _delay(found)) if table.rows]
    return ListeningView(
        title=f"{_KIND[design.kind].capitalize()}, {how}",
        summary=f"{people}; {counted(len(excluded), 'rater')} left out after quality control.",
        notes=tuple(notes),
        tables=tuple(tables),
    )


def _elo(found: ListeningResults) -> TableView:
    rows = tuple(
        (
            system_name(row.system), _PRESENTATION[row.presentation], elo(row.counted.value), elo_interval(row.counted),
            elo(row.everybody.value), str(row.votes),
        )
        for row in found.elo
    )  # fmt: skip
    return TableView(
        "Elo by people. Each presentation is a board of its own.",
        ("System", "Presentation", "Elo", "95 % interval", "With all raters", "Votes"),
        rows,
    )


def _opinions(found: ListeningResults) -> TableView:
    everybody = {(o.system, o.scale, o.with_delay): o.mean for o in found.opinions_everybody}
    rows = tuple(
        (
            system_name(o.system), o.scale, "with its delay" if o.with_delay else "without", _score(o.mean),
            _band(o.mean), _score(everybody.get((o.system, o.scale, o.with_delay), Estimate())), str(o.votes),
        )
        for o in found.opinions
    )  # fmt: skip
    return TableView(
        "Mean opinion scores, 1–5, after ITU-T P.800; intervals resample raters.",
        ("System", "Scale", "Delay", "Mean", "95 % interval", "With all raters", "Votes"),
        rows,
    )


def _delay(found: ListeningResults) -> TableView:
    rows = tuple((d.scale, _score(d.shift), _band(d.shift), str(d.pairs), str(d.raters)) for d in found.delay)
    return TableView(
        "What hearing the delay costs, within raters: points of the five-point scale, towards the sooner reply or lost by "
        "the reply. Positive: waiting costs.",
        ("Scale", "Shift", "95 % interval", "Items judged both ways", "Raters"),
        rows,
    )


def _score(estimate: Estimate) -> str:
    return UNKNOWN_TEXT if estimate.value is None else f"{estimate.value:.2f}".replace("-", "−")


def _band(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return UNKNOWN_TEXT
    return f"{estimate.low:.2f} to {estimate.high:.2f}".replace("-", "−")
