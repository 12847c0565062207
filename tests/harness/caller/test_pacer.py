"""The loop of the caller: exact timers, whatever the number of its sockets."""

import asyncio
import os
import socket
import statistics
import threading

import pytest

from harness.caller.pacer import precise_loop


@pytest.mark.parametrize("sockets", [1, 300])
def test_timers_are_finer_than_the_millisecond_of_epoll(sockets: int) -> None:
    async def late_ms() -> list[float]:
        loop, found = asyncio.get_running_loop(), []
        pairs = [socket.socketpair() for _ in range(sockets)]
        for one, _ in pairs:
            loop.add_reader(one, one.recv, 1)
        for _ in range(200):
            due = loop.time() + 0.0013
            await asyncio.sleep(0.0013)
            found.append(1000 * (loop.time() - due))
        for one, other in pairs:
            loop.remove_reader(one)
            one.close()
            other.close()
        return found

    with asyncio.Runner(loop_factory=precise_loop) as runner:
        late = runner.run(late_ms())
    # epoll alone counts in whole milliseconds: 1.3 ms would last 2, and no waits of 200 be under half a millisecond late.
    assert min(late) >= -0.1, "nothing is early"
    assert statistics.quantiles(late, n=10)[0] < 0.5


def test_a_socket_wakes_the_loop_that_waits_for_a_timer_and_for_none() -> None:
    async def heard(timer_s: float | None) -> bytes:
        here, there = os.pipe()
        got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(here, lambda: got.set_result(os.read(here, 9)))
        threading.Timer(0.05, os.write, (there, b"now")).start()
        try:
            if timer_s is None:
                return await got
            async with asyncio.timeout(timer_s):
                return await got
        finally:
            asyncio.get_running_loop().remove_reader(here)
            os.close(here)
            os.close(there)

    with asyncio.Runner(loop_factory=precise_loop) as runner:
        assert runner.run(heard(None)) == runner.run(heard(5)) == b"now"
