"""Estimated cost of a plan before it is paid for: questions, tokens and dollars, without asking anything.

Tokens are estimated from the prompts that would be sent, at four characters a token (English prose in current
tokenisers: 3.8 to 4.5), and a verdict of a hundred and twenty. An estimate is not a bill; no price on file gives no cost.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from harness.judging.batch import replies_of
from harness.judging.completion import Completion, identical
from harness.judging.design import Comparison, Design, fill_order, plan_comparisons
from harness.judging.hearing import hearing_prompt
from harness.judging.judge import Question
from harness.judging.prices import price_of
from harness.judging.rubric import conversation, data_block, system_prompt, user_prompt
from harness.judging.settings import JudgeSettings
from harness.judging.sound import AROUND_BEEP_S, BEEP_S, HearingSettings
from harness.judging.validation.checks import draw_canaries
from harness.ranking.stopping import planned_looks
from harness.scenarios.context import Context

CHARACTERS_PER_TOKEN = 4.0
VERDICT_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate for one judge and one plan. `cost_usd` is None where no price is on file."""

    judge: str
    comparisons: int
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    check_calls: int = 0
    """Those of the calls that check the judge before it is asked about the replies."""
    price_as_of: str = ""
    """Date of the price in the list that ships; empty for a price in the judge's own file."""
    seconds_heard: float = 0.0
    """Sound in the questions to a judge that hears."""
    tokens_heard: int | None = None
    """Those of the tokens that are of sound; None where there is no sound, or the provider's rule is not on file."""
    least: "Estimate | None" = None
    """For a plan that may end early: the part that is asked before the first interim analysis."""


def estimate(
    contexts: Sequence[Context],
    completions: Sequence[Completion],
    settings: JudgeSettings,
    design: Design | None = None,
    seed: int = 1,
    *,
    canaries: int = 0,
    may_end_early: bool = False,
    between: Collection[str] = (),
) -> Estimate:
    """The questions that `judge_pairs` would ask this judge with an empty cache, retries not counted."""
    by_id = {c.id: c for c in contexts}
    replies = replies_of(completions, by_id)
    plan = plan_comparisons({k: list(v) for k, v in replies.items()}, design or Design(), seed, between)
    asked = [
        c
        for c in plan
        if c.purpose == "main"
        or (not settings.orders_itself and not any(replies[c.context_id][s].lost for s in (c.system_a, c.system_b)))
    ]

    def both(c: Comparison) -> tuple[Completion, Completion]:
        return replies[c.context_id][c.system_a], replies[c.context_id][c.system_b]

    def of(part: Sequence[Comparison], more: Sequence[Question] = ()) -> Estimate:
        questions = [
            Question.of(by_id[c.context_id], *both(c))
            for c in part
            if not any(completion.lost for completion in both(c))
            and not (settings.audio is None and identical(*(completion.text for completion in both(c))))
        ]
        return _priced(settings, len(part), [*questions, *more])

    whole = of(asked, [canary.question for canary in draw_canaries(canaries, seed)])
    if not may_end_early:
        return whole
    used = {c.context_id for c in asked}
    order = [context_id for context_id in fill_order(replies, seed) if context_id in used]
    first = set(order[: planned_looks(len(order))[0]])
    return replace(whole, least=of([c for c in asked if c.context_id in first]))


def with_check(plan: Estimate, settings: JudgeSettings, questions: Sequence[Question]) -> Estimate:
    """The plan with the questions of the judge's check, which are asked first, however early the rest ends."""
    check = _priced(settings, 0, questions)
    both = replace(total([plan, check]), check_calls=check.calls)
    return replace(both, least=replace(total([plan.least, check]), check_calls=check.calls) if plan.least else None)


def total(parts: Sequence[Estimate]) -> Estimate:
    """The sum of several batches of one judge; where batches may end early, the first may end early and the others may be left
    out."""
    least = [part.least for part in parts[:1] if part.least is not None]
    costs = [part.cost_usd for part in parts]
    heard = [part.tokens_heard for part in parts]
    return Estimate(
        judge=parts[0].judge,
        comparisons=sum(part.comparisons for part in parts),
        calls=sum(part.calls for part in parts),
        tokens_in=sum(part.tokens_in for part in parts),
        tokens_out=sum(part.tokens_out for part in parts),
        seconds_heard=round(sum(part.seconds_heard for part in parts), 1),
        tokens_heard=None if None in heard else sum(tokens for tokens in heard if tokens is not None),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        price_as_of=parts[0].price_as_of,
        least=least[0] if least else None,
    )


def _priced(settings: JudgeSettings, comparisons: int, questions: Sequence[Question]) -> Estimate:
    if settings.audio is not None:
        return _heard(settings, settings.audio, comparisons, questions)
    characters = sum(len(user_prompt(question)) + len(system_prompt()) for question in questions)
    tokens_in = 0 if settings.runs_here else round(characters / CHARACTERS_PER_TOKEN)
    tokens_out = 0 if settings.runs_here else VERDICT_TOKENS * len(questions)
    price = price_of(settings)
    cost = None if price is None else price.of(tokens_in, tokens_out)
    dated = price.as_of if price is not None else ""
    return Estimate(settings.judge_id, comparisons, len(questions), tokens_in, tokens_out, cost, price_as_of=dated)


def cost_in_words(plan: Estimate) -> str:
    """The cost, with the date of a price that is not the user's own."""
    if plan.cost_usd is None:
        return "no price on file"
    return f"US$ {plan.cost_usd:,.2f}" + (f" at prices of {plan.price_as_of}" if plan.price_as_of else "")


def _heard(settings: JudgeSettings, audio: HearingSettings, comparisons: int, questions: Sequence[Question]) -> Estimate:
    """The part of a judge that hears. Without its provider's rule sound is not among the tokens, and no cost is known."""
    text = round(sum(len(data_block(conversation(q))) + len(hearing_prompt()) for q in questions) / CHARACTERS_PER_TOKEN)
    beep_s = BEEP_S + 2 * AROUND_BEEP_S if audio.joined else 0.0
    seconds = sum(sum(clip.seconds for clip in q.sounds or ()) + beep_s for q in questions)
    sound = None if audio.tokens_per_s is None else round(seconds * audio.tokens_per_s)
    tokens_out, price = VERDICT_TOKENS * len(questions), price_of(settings)
    cost = None
    if sound is not None and price is not None and price.usd_audio_in is not None:
        cost = price.of(text, tokens_out) + sound * price.usd_audio_in / 1e6
    return Estimate(
        settings.judge_id, comparisons, len(questions), text + (sound or 0), tokens_out, cost, seconds_heard=round(seconds, 1),
        tokens_heard=sound, price_as_of=price.as_of if price is not None else "",
    )  # fmt: skip
