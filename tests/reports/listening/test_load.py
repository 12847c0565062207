"""Fifty raters at once: no vote is lost, none is kept twice, nobody meets another's answers."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

RATERS = 50


async def one_rater(address: str, number: int) -> list[tuple[int, str]]:
    """A whole session; every third answer is sent twice, as a page does that lost the reply."""
    given: list[tuple[int, str]] = []
    async with httpx2.AsyncClient(base_url=address, timeout=60) as client:
        assert (await client.post("/begin", json={"consent": True})).status_code == 200
        step = (await client.get("/step")).json()
        while step["kind"] != "done":
            sounds = [*step.get("sounds", []), step.get("caller"), *(r["sound"] for r in step.get("replies", []))]
            for sound in sounds:
                if sound:
                    assert (await client.get(sound)).status_code == 200
            reason = f"rater {number} step {step['position']}"
            answer = {"choice": number % 5 - 2, "reason": reason} if step["kind"] == "pair" else {}
            body = {"position": step["position"], "answer": answer}
            if step["position"] % 3 == 0:
                replies = await asyncio.gather(*(client.post("/answer", json=body) for _ in range(2)))
            else:
                replies = [await client.post("/answer", json=body)]
            assert {reply.status_code for reply in replies} == {200}
            if answer:
                given.append((step["position"], reason))
            step = (await client.get("/step")).json()
    return given


def test_fifty_raters_lose_and_double_nothing(serve: Callable[..., Any]) -> None:
    served = serve(
        contexts=8, items=6, practice=1, gold=1, attention=1, headphone_trials=0, hearing_share=0.0, begins_per_minute=RATERS
    )

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(one_rater(served.address, number) for number in range(RATERS)))

    # A thread of its own: the browser of other tests keeps an event loop running in this one.
    with ThreadPoolExecutor(1) as apart:
        given = apart.submit(asyncio.run, all_at_once()).result()
    kept = served.votes.answers()
    assert len(served.votes.raters()) == RATERS
    assert len({(a.rater, a.position) for a in kept}) == len(kept) == sum(len(r.plan) for r in served.votes.raters())
    reasons = Counter((a.position, a.answer["reason"]) for a in kept if "reason" in a.answer)
    assert reasons == Counter(pair for session in given for pair in session)
    for rater in served.votes.raters():
        assert (
            len({str(a.answer["reason"]).split(" step")[0] for a in kept if a.rater == rater.id and "reason" in a.answer}) == 1
        )
    dealt = Counter(a.item.context for a in kept if a.item.role == "main")
    assert max(dealt.values()) - min(dealt.values()) <= 0.4 * max(dealt.values())
