"""The language model's server says in one line why it cannot be had, and what it does with each request."""

import asyncio
import os
import time
from pathlib import Path

import openai
import pytest

from harness.agents.cascade.server_words import ASKED_OF_LLAMA, ServerWords
from harness.agents.cascade.session_marks import SessionMarks
from harness.agents.llm_server import LlmServer, ServerFailed, ServerOptions
from harness.clock import now_ns
from harness.models.store import resolve
from harness.servers.request_words import of_answer
from harness.servers.scraper import MetricsScraper, Target
from harness.servers.split import ServerSplit, Wait, split
from harness.servers.windows import trusted


async def test_a_system_without_the_openmp_runtime_is_told_which_package_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = 'raise ImportError("libgomp.so.1: cannot open shared object file: No such file or directory")'
    (tmp_path / "xllamacpp.py").write_text(broken, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"never read")
    with pytest.raises(ServerFailed, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        await LlmServer(ServerOptions(model=str(model))).start()


async def _asked(server: LlmServer, text: str) -> tuple[Wait, ServerSplit]:
    """One request, and its wait for the first token as the server's own words split it."""
    session = SessionMarks()
    words = ServerWords(session, server.stopped_between)
    words.request()
    client = openai.AsyncOpenAI(base_url=server.base_url, api_key="none")
    session.stamp("llm_requested", request=1)
    begin_ns, first_ns = time.monotonic_ns(), 0
    stream = await client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": text}],
        stream=True,
        max_tokens=8,
        extra_body=dict(ASKED_OF_LLAMA),
    )
    async for chunk in stream:
        if words.hear(chunk, 1) and chunk.choices and chunk.choices[0].delta.content and not first_ns:
            session.stamp("llm_first_token", request=1)
            first_ns = time.monotonic_ns()
            words.pass_on(1)
    said, begun = session.last("llm_timings"), session.last("llm_begun")
    assert said is not None
    assert begun is not None
    wait = Wait("llm", begin_ns, first_ns, time.monotonic_ns())
    request = of_answer(said["detail"], begun["at_ns"], said["detail"].get("stopped_ns"))
    found = split(wait, request, None)
    assert found is not None
    await client.close()
    return wait, found


@pytest.mark.alone
@pytest.mark.models
async def test_llama_cpp_itself_says_who_waited_for_whom(tmp_path: Path) -> None:
    server = LlmServer(ServerOptions(model=str(resolve("smollm2-135m"))))
    await server.start()
    try:
        with MetricsScraper(tmp_path / "servers.jsonl", [Target("bot", "llm", lambda: server.metrics_url)]) as scraper:
            _, alone = await _asked(server, "Tell me about the sea. " * 20)
            began_ns = now_ns()
            pairs = [await asyncio.gather(_asked(server, "One. " * 40), _asked(server, "Two. " * 40)) for _ in range(2)]
            with server.paused():
                paused = asyncio.create_task(_asked(server, "And the mountains? " * 20))
                await asyncio.sleep(0.4)
            _, stopped = await paused
            await asyncio.sleep(0.5)
            samples = scraper.between("bot", 0, now_ns())
            assert scraper.complaints() == []
    finally:
        await server.stop()
    assert (alone.source, alone.server) == ("request", "llama.cpp")
    assert alone.explained_share > 0.8
    assert (alone.compute_ms or 0) > 0.5 * alone.whole_ms
    for pair in pairs:
        first, second = sorted((found for _, found in pair), key=lambda found: found.whole_ms)
        longer_ms = (second.queue_ms or 0) - (first.queue_ms or 0)
        assert longer_ms > 0.5 * (first.compute_ms or 0) > 0, "one slot: the second waits while the first is computed"
        assert second.explained_share > 0.8
    assert stopped.idle_ms == pytest.approx(400, abs=200)
    assert (stopped.queue_ms or 0) + (stopped.compute_ms or 0) < stopped.whole_ms - 300, "a stopped model does not compute"
    assert {sample.server for sample in samples} == {"llama.cpp"}
    during = [s for s in samples if s.at_ns > began_ns]
    assert max(s.columns["running"] for s in during) >= 1
    assert during[-1].columns["work"] > samples[0].columns["work"]
    assert len({sample.columns["started"] for sample in samples}) == 1
    assert not trusted(samples).began_again
