"""A loop of real sound: a browser's output goes to a virtual pair of ears, and a virtual mouth is its microphone.

PulseAudio runs as a daemon of the test's own with a socket and a folder of its own, so that no sound card, system daemon or
other test is touched. Chromium plays and records through it as on anybody's machine; no device is faked in the browser.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

CHROMIUM: Final = "/usr/bin/chromium"
ARGUMENTS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
    "--use-fake-ui-for-media-stream",
)  # fmt: skip
PATIENCE_S: Final = 20.0


def skip_without_it() -> None:
    """Skip the test where the programs of the loop are not installed."""
    for program in ("pulseaudio", "pactl", CHROMIUM):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing: run `apt-get install pulseaudio pulseaudio-utils chromium`")


@dataclass(frozen=True)
class SoundLoop:
    """A running loop. `server`: its address; `daemon`: its process."""

    server: str
    daemon: "subprocess.Popen[bytes]"
    environment: dict[str, str]

    def control(self, *command: str) -> str:
        """What `pactl` answers to a command."""
        return subprocess.run(
            ["pactl", *command], env=self.environment, check=True, capture_output=True, text=True, timeout=PATIENCE_S
        ).stdout


@contextmanager
def sound_loop(folder: Path, offered_hz: int = 48_000) -> Iterator[SoundLoop]:
    """A loop of its own in `folder`: the sinks `ears` and `mouth`, 48 kHz, mono.

    `offered_hz`: the rate that the browser is offered and at which it opens its devices: with another than 48,000 it resamples.
    """
    runtime = folder / "pulse"
    runtime.mkdir(mode=0o700)
    # A socket's path has at most 107 bytes, and test folders are long.
    socket = Path(f"/tmp/sound-loop-{os.getpid()}-{time.monotonic_ns()}")
    server = f"unix:{socket}"
    environment = {
        **os.environ, "XDG_RUNTIME_DIR": str(runtime), "PULSE_RUNTIME_PATH": str(runtime), "PULSE_STATE_PATH": str(runtime),
        "PULSE_SERVER": server, "PULSE_SINK": "ears", "PULSE_SOURCE": "microphone", "PULSE_COOKIE": str(runtime / "cookie"),
    }  # fmt: skip
    sinks = [f"module-null-sink sink_name={name} rate=48000 channels=1" for name in ("ears", "mouth")]
    # A browser offers no monitor as a microphone, so the mouth's has another name.
    microphone = "module-remap-source source_name=microphone master=mouth.monitor rate=48000 channels=1"
    (runtime / "daemon.conf").write_text(f"default-sample-rate = {offered_hz}\n")
    modules = [f"module-native-protocol-unix socket={socket} auth-anonymous=1", *sinks, microphone]
    daemon = subprocess.Popen(
        ["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--realtime=no",
         "--high-priority=no", "--disable-shm=yes", "--log-target=stderr", *(p for module in modules for p in ("-L", module))],
        env={**{k: v for k, v in environment.items() if k != "PULSE_SERVER"}, "PULSE_CONFIG": str(runtime / "daemon.conf")},
        stderr=(folder / "pulse.log").open("wb"),
    )  # fmt: skip
    loop = SoundLoop(server, daemon, environment)
    try:
        until = time.monotonic() + PATIENCE_S
        while "mouth" not in _sinks(loop):
            if daemon.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PulseAudio did not start: {(folder / 'pulse.log').read_text()}")
            time.sleep(0.05)
        yield loop
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE_S)
        socket.unlink(missing_ok=True)


def _sinks(loop: SoundLoop) -> str:
    try:
        return loop.control("list", "short", "sinks")
    except subprocess.CalledProcessError:
        return ""


def stop_for(seconds: float, *pids: int) -> None:
    """Give processes no time for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def processes(word: str) -> list[int]:
    """The processes that this one started, and those started by them, with `word` in their command."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    return [pid for pid in parents if pid != os.getpid() and ours(pid) and word in _command(pid)]


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


class AutomaticPerson:
    """An automatic person at a loop (`tests.automatic_person`), as a process of its own."""

    def __init__(self, loop: SoundLoop) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.automatic_person", loop.server], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=loop.environment, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        self._reports: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for("ready")

    def do(self, what: str, **more: Any) -> None:
        """Give a command; it was obeyed when this returns."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self._process.stdin.flush()
        self.wait_for("obeyed")

    def wait_for(self, event: str, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """The next report of `event`."""
        until = time.monotonic() + within_s
        while True:
            report = self._reports.get(timeout=max(0.01, until - time.monotonic()))
            if report["event"] == event:
                return report

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for report in self._process.stdout:
            self._reports.put(json.loads(report))


@contextmanager
def automatic_person(loop: SoundLoop) -> Iterator[AutomaticPerson]:
    person = AutomaticPerson(loop)
    try:
        yield person
    finally:
        person.close()


@contextmanager
def browser_on(loop: SoundLoop, playwright: Any) -> Iterator[Any]:
    """Chromium with the loop's ears and mouth as its only sound."""
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, args=list(ARGUMENTS), ignore_default_args=["--mute-audio"], env=loop.environment
    )
    try:
        yield browser
    finally:
        browser.close()
