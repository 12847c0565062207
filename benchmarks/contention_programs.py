"""The programs of `benchmarks/contention.py`: others that keep a processor busy, and an agent whose work is known.

By themselves, without anything of the harness, so that they start at once on a busy machine.
"""

import os
import random
import struct
import sys
import time

PERIOD_S = 0.05
BURST_S = 0.004
STEPS, STEP_MS, PAUSE_S = 30, 10, 0.002


def burn(part: float) -> None:
    """Work for a part of the time; a negative one in bursts of random length by short-lived programs."""
    dice = random.Random()
    while True:
        if part < 0:
            burst_s = min(0.02, dice.expovariate(1 / BURST_S))
            if (child := os.fork()) == 0:
                _spin(burst_s)
                os._exit(0)
            time.sleep(dice.expovariate(-part / BURST_S))
            os.waitpid(child, 0)
        else:
            _spin(PERIOD_S * part)
            if part < 1:
                time.sleep(PERIOD_S * (1 - part))


def _spin(for_s: float) -> None:
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        pass


def work(processes: int) -> None:
    """Work 300 ms in 30 steps, each after a pause; every other step by a child, of which this process waits for the end."""
    ask, answer = os.pipe(), os.pipe()
    if processes == 2 and os.fork() == 0:
        os.close(ask[1])
        while os.read(ask[0], 1):
            os.write(answer[1], struct.pack("q", _step()))
        os._exit(0)
    print("ready", flush=True)
    sys.stdin.readline()
    began_ns, quiet_ns = time.monotonic_ns(), 0
    for k in range(STEPS):
        if processes == 2 and k % 2:
            os.write(ask[1], b"x")
            quiet_ns += struct.unpack("q", os.read(answer[0], 8))[0]
        else:
            quiet_ns += _step()
        # A pause that takes longer than it should has lost a processor too: so it counts as it was asked for.
        time.sleep(PAUSE_S)
        quiet_ns += int(PAUSE_S * 1e9)
    print(began_ns, time.monotonic_ns(), quiet_ns, flush=True)
    os.close(ask[1])


def _step() -> int:
    began_ns = time.thread_time_ns()
    while time.thread_time_ns() - began_ns < STEP_MS * 1e6:
        pass
    return time.thread_time_ns() - began_ns


if __name__ == "__main__":
    if sys.argv[1] == "burn":
        burn(float(sys.argv[2]))
    else:
        work(int(sys.argv[2]))
