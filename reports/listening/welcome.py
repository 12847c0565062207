"""The first page of a test: what a person is asked for, before they agree to it. Every sentence follows from the design.

Nothing here says which agent, delay or reply is expected to be better, and nothing marks a check: that would change answers.
"""

from harness.reports.invited.page import rendered
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.length import SessionLength
from harness.study.study import Study
from harness.study.texts import Texts


def equipment(design: ListeningDesign, t: Texts) -> str:
    """What a person needs for it, and should know of the waits."""
    if design.medium == "text":
        return t("listen.equipment.text")
    trials = design.headphone_trials
    needs = t("listen.equipment.trials", n=trials) if trials else t("listen.equipment.sound")
    return " ".join([needs, *([t("listen.twice")] if design.delays == "both" else []),
                     *([t("listen.waits")] if design.delays != "without" else [])])  # fmt: skip


def duration(design: ListeningDesign, length: SessionLength, t: Texts) -> str:
    """How much is asked, and how long it takes."""
    practice = t("listen.after_practice", number=length.practice) if length.practice else ""
    breaks = t("listen.with_breaks", number=design.break_every) if length.questions > design.break_every else ""
    low, high = length.minutes
    time = t("listen.about_minutes", n=high) if low >= high else t("listen.minutes", low=low, high=high)
    source = t("listen.as_before", n=length.answers) if length.answers else ""
    count = t(f"listen.count.{design.kind}", n=length.questions, practice=practice, breaks=breaks)
    return f"{count} {t('listen.takes', time=time, source=source)}"


def welcome_page(html: str, design: ListeningDesign, length: SessionLength, study: Study) -> str:
    """The page of the test for this design."""
    t = study.texts
    return rendered(
        html, study, ("listen",),
        title=t(f"listen.title.{design.kind}"),
        about=t(f"listen.about.{design.kind}_{design.medium}"),
        equipment=equipment(design, t),
        origin=t(f"listen.origin.{design.medium}"),
        checks=length.checks,
        duration=duration(design, length, t),
    )  # fmt: skip
