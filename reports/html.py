"""The view as one HTML file that opens from disk without network, today and in ten years.

Vega and Vega-Lite are inlined, the same engine that draws the PNG and SVG, so that the page and the
pictures cannot differ. Conversations are compressed and are unpacked when opened (see `harness.reports.page_files`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from markupsafe import Markup

from harness.figures import server_waits
from harness.figures.endpointing import (
    ENDS_HEAD,
    LAWS_HEAD,
    LAWS_TITLE,
    PAUSES_HEAD,
    ends_rows,
    laws_rows,
    pauses_rows,
    talked_over,
    untimed,
)
from harness.figures.events import HEAD, event_notes, event_rows
from harness.figures.seat import seat_words
from harness.reports import payload
from harness.reports.absent import absent, is_there
from harness.reports.answers import answers
from harness.reports.audits import compared_in_pairs_words
from harness.reports.board import boards, method_words
from harness.reports.cautions_shown import cautions, placed
from harness.reports.charts import elo_latency_chart, elo_latency_points, theme
from harness.reports.charts.registry import charts
from harness.reports.conditions import conditions
from harness.reports.failures import losses
from harness.reports.findings import findings
from harness.reports.head import next_step
from harness.reports.page_files import content_policy, environment, packed, page_file, safe_json, script_text, vega_script
from harness.reports.provenance import essential
from harness.reports.verdict import verdicts
from harness.reports.view import METRICS, SUBSETS, PageView, Subset, TableView
from harness.reports.vote_pairs import vote_data
from harness.reports.wording import finding_interval, finding_value, judge_on_red_lines, judge_red_lines, judge_sentence
from harness.wording import counted

_SCRIPTS = (
    "el.js", "words.js", "about_you.js", "dom.js", "unpack.js", "joint.js", "player.js", "waterfall.js", "address.js",
    "search.js", "board.js", "each_turn.js", "conversation.js", "handover.js", "download.js", "vote_votes.js", "vote.js",
    "browse.js", "theme.js", "charts.js", "print.js",
)  # fmt: skip
_SECTIONS: tuple[tuple[str, str, str], ...] = (
    ("gate", "Gate", "sections/gate.html.jinja"),
    ("verdict", "Verdicts", "sections/verdicts.html.jinja"),
    ("vote", "Vote", "sections/vote.html.jinja"),
    ("systems", "All systems", "sections/systems.html.jinja"),
    ("baseline", "Since the baseline", "sections/baseline.html.jinja"),
    ("quality", "Quality", "sections/quality.html.jinja"),
    ("latency", "Latency", "sections/latency.html.jinja"),
    ("servers", "Servers", "sections/servers.html.jinja"),
    ("endpointing", "Endpointing", "sections/endpointing.html.jinja"),
    ("events", "Events", "sections/events.html.jinja"),
    ("interaction", "Interaction", "sections/interaction.html.jinja"),
    ("strategies", "Strategies", "sections/strategies.html.jinja"),
    ("trust", "Judges", "sections/audits.html.jinja"),
    ("listening", "People", "sections/listening.html.jinja"),
    ("conversations", "Conversations", "sections/contexts.html.jinja"),
    ("missing", "Missing", "sections/failures.html.jinja"),
    ("provenance", "How it was run", "sections/provenance.html.jinja"),
    ("cautions", "Before you quote", "sections/cautions.html.jinja"),
)

MOST_OPEN: Final = 8
"""Most rows of a table that is open as the page opens: a row of the board is 70 px tall, so twenty would fill two screens."""


@dataclass(frozen=True, slots=True)
class Tables:
    """A section's tables for one subset, in the terminal's words. `notes`: remarks that belong to no cell."""

    tables: tuple[TableView, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_any(self) -> bool:
        """True if the section says anything on these conversations."""
        return bool(self.tables[0].rows or self.notes)


def endpointing_section(view: PageView, subset: Subset) -> Tables:
    """The tables that `harness report --endpointing` prints, with rows only for agents that have figures."""
    mine = [(a.name, a.slices[subset].cell) for a in view.agents if a.spoken and subset in a.slices]
    known = [(name, found) for name, found in mine if found.dead_air_ms.n or found.endpointing]
    ends = TableView("After the true ends", ENDS_HEAD, ends_rows(known))
    pauses = TableView("Inner pauses that were cut", PAUSES_HEAD, pauses_rows(known))
    laws = TableView(LAWS_TITLE, LAWS_HEAD, laws_rows(known))
    return Tables((ends, pauses, laws), (*talked_over(mine), *untimed(mine)))


def events_section(view: PageView, subset: Subset) -> Tables:
    """The table of sounds beside the agents' speech; without rows in a run without events."""
    mine = [(a.name, a.slices[subset].cell.events) for a in view.agents if a.spoken and subset in a.slices]
    return Tables((TableView("Sounds beside the agent's speech", HEAD, event_rows(mine)),), event_notes(mine))


def servers_section(view: PageView, subset: Subset) -> Tables:
    """The table of waits for model servers; without rows where no server says anything."""
    words = server_waits
    mine = [(a.name, a.slices[subset].cell.servers) for a in view.agents if subset in a.slices]
    return Tables((TableView(words.TITLE, words.HEAD, words.waits_rows(mine)),), words.waits_notes(mine))


_TABLES: Final = {"endpointing": endpointing_section, "events": events_section, "servers": servers_section}


def render(view: PageView) -> str:
    """The whole page as HTML."""
    sections = charts(view)
    specs = {chart.name: chart.spec for section in sections.values() for chart in section}
    index = payload.index(view)
    data = safe_json(
        {
            "run": view.run,
            "made_under": conditions(view),
            "agents": [agent.name for agent in view.agents],
            "spoken": [agent.spoken for agent in view.agents],
            "conditions": list(view.conditions),
            "audio_inside": any((one.audio or "").startswith("data:") for c in view.contexts for one in c.sessions),
            "contexts": index,
            "metrics": METRICS,
            "stages": {
                name: {"label": label, "colour": colour}
                for (name, label), colour in zip(theme.STAGE_LABELS.items(), theme.STAGE_COLOURS, strict=True)
            },
            "parts": {
                name: {"label": label, "colour": colour}
                for (name, label), colour in zip(theme.PART_LABELS.items(), theme.PART_COLOURS, strict=True)
            },
            "theme": theme.on_page(),
        }
    )
    script, vega = own_script(), vega_script()
    tables = {name: {subset: make(view, subset) for subset in SUBSETS} for name, make in _TABLES.items()}
    given = placed(cautions(view), judged=bool(view.verdicts + view.votes))
    filled = {name for name, drawn in sections.items() if drawn} | {name for name, of in tables.items() if of["all"].has_any}
    there = [section for section in _SECTIONS if is_there(view, section[0], filled | ({"cautions"} if given.rest else set()))]
    drawings, shown, (heads, rows) = _drawings(view), verdicts(view), boards(view)
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            view=view,
            style=Markup(page_file("report.css")),
            script=Markup(script),
            vega=Markup(vega),
            data=Markup(data),
            blocks=[Markup(packed(payload.conversation(context, view))) for context in view.contexts],
            vote_pairs=Markup(packed(vote_data(view.vote))),
            policy=content_policy([script, vega]),
            templates=[template for _, _, template in there],
            contents=[(anchor, label) for anchor, label, _ in there],
            findings=findings(view),
            absent=absent(
                view, {anchor: name for anchor, name, template in _SECTIONS if (anchor, name, template) not in there}
            ),
            spoken=any(agent.spoken for agent in view.agents),
            cautions=given,
            next_step=next_step(view),
            can_plot=bool(drawings),
            joint=[Markup(drawing) for drawing in drawings.get(elo_latency_points.default_choice(view).key, ())],
            drawings=Markup(packed(drawings)),
            marker=_marker,
            verdicts=shown,
            answers=answers(shown, spoken=not view.agents or any(agent.spoken for agent in view.agents)),
            left_out=compared_in_pairs_words(view.verdicts + view.votes),
            boards=rows,
            subsets=_subsets(view),
            method_words=method_words(view),
            columns=heads,
            seat_words=seat_words,
            most_open=MOST_OPEN,
            facts=essential(view.provenance),
            servers_meaning=server_waits.MEANING,
            losses=losses(view),
            **tables,
            specs={name: Markup(safe_json(spec)) for name, spec in specs.items()},
            sections=sections,
            finding_value=finding_value,
            finding_interval=finding_interval,
            metrics=elo_latency_points.offered(view),
            default_metric=elo_latency_points.default_metric(view),
            conditions=conditions(view),
            emotions=sorted({context.emotion for context in view.contexts}),
            disputed=sum(entry["disputed"] > 0 for entry in index),
            judge_sentence=judge_sentence,
            judge_red_lines=judge_red_lines,
            judge_on_red_lines=judge_on_red_lines,
            counted=counted,
        )
    )


def _drawings(view: PageView) -> dict[str, list[str]]:
    """The drawings of the joint chart for every setting of its switches, in each size."""
    return {
        choice.key: [str(elo_latency_chart.draw(view, choice, size)) for size in elo_latency_chart.SIZES]
        for choice in elo_latency_points.choices(view)
    }


def _marker(number: int) -> Markup:
    """An agent's mark from the joint chart, to show beside its name."""
    colour, shape = elo_latency_chart.colour_and_shape(number)
    return Markup('<svg class="marker" viewBox="-8 -8 16 16" aria-hidden="true"><path d="{}" fill="{}"/></svg>').format(
        elo_latency_chart.shape_path(shape), elo_latency_chart.on_page(colour)
    )


def _subsets(view: PageView) -> tuple[tuple[Subset, int], ...]:
    """The options of the switch of conversations, each with its number of conversations."""
    return tuple((subset, sum(subset in ("all", c.subset) for c in view.contexts)) for subset in SUBSETS)


@cache
def own_script() -> str:
    """The page's own script, exactly as in the file."""
    return script_text("\n".join(page_file(f"script/{name}") for name in _SCRIPTS))
