"""How quickly the listening test answers 50 raters at once: an hour's worth of their requests in a minute and a half.

Run: python benchmarks/report_listening_load.py RUN [RATERS]. RUN is a played run; votes go to a copy of it that is
deleted afterwards. Raters hear nothing and think for up to five seconds, where people take a minute or two a step.
"""

import asyncio
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import numpy as np
import uvicorn

from harness.reports.invited.server import KEEP_ALIVE_S
from harness.reports.listening.app import ListeningApp
from harness.reports.listening.design import ListeningDesign
from harness.reports.listening.serve import prepare
from harness.store.run_store import RunStore

PORT = 8_951
DESIGN = ListeningDesign(items=20, headphone_trials=0)
"""No trials: raters who hear nothing would be stopped by them."""
THINK_S = 5.0
"""Makes a session of half an hour or more last about a minute and a half."""


def serve(run: Path) -> None:
    votes, material = prepare(RunStore.open(run), DESIGN)
    app = ListeningApp(votes, material, DESIGN, hearing_share=0.0, begins_per_minute=10_000)
    uvicorn.run(app.asgi(), port=PORT, log_level="error", access_log=False, timeout_keep_alive=KEEP_ALIVE_S)


async def rater(times: dict[str, list[float]], number: int) -> int:
    rng = random.Random(number)
    answers = 0
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{PORT}", timeout=60) as client:

        async def timed(kind: str, path: str, body: object = None) -> httpx2.Response:
            began = time.perf_counter()
            reply = await (client.get(path) if body is None else client.post(path, json=body))
            times[kind].append(1_000 * (time.perf_counter() - began))
            reply.raise_for_status()
            return reply

        await asyncio.sleep(rng.uniform(0, 2))
        await timed("begin", "/begin", {"consent": True})
        step = (await timed("step", "/step")).json()
        while step["kind"] != "done":
            for sound in [*step.get("sounds", []), step.get("caller"), *(r["sound"] for r in step.get("replies", []))]:
                if sound:
                    await timed("sound", sound)
            await asyncio.sleep(rng.uniform(0, THINK_S))
            given = {"choice": rng.randint(-2, 2), "reason": "because", "tone": 1}
            step = (await timed("answer", "/answer", {"position": step["position"], "answer": given})).json()
            answers += 1
    return answers


def wait_until_up() -> None:
    while True:
        try:
            httpx2.get(f"http://127.0.0.1:{PORT}/step")
            return
        except httpx2.TransportError:
            time.sleep(0.2)


async def load(raters: int) -> None:
    times: dict[str, list[float]] = {kind: [] for kind in ("begin", "step", "sound", "answer")}
    began = time.perf_counter()
    answers = sum(await asyncio.gather(*(rater(times, number) for number in range(raters))))
    print(
        f"{raters} raters, {answers} answers, {sum(map(len, times.values()))} requests in {time.perf_counter() - began:.1f} s"
    )
    for kind, taken in times.items():
        print(f"{kind:>7}: p50 {np.percentile(taken, 50):6.1f} ms, p99 {np.percentile(taken, 99):6.1f} ms, n {len(taken)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(sys.argv[1], copy)
        shutil.rmtree(copy / "listening", ignore_errors=True)
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(copy,))
        server.start()
        try:
            wait_until_up()
            asyncio.run(load(int(sys.argv[2]) if len(sys.argv) > 2 else 50))
        finally:
            server.terminate()
            server.join()


if __name__ == "__main__":
    main()
