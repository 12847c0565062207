"""Twenty kinds of secrets, said by an agent, an endpoint and judges in a real run: no file, page, log or export has a piece."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.doctor.leaks import leaks
from harness.store.run_store import RunStore
from tests.agents.planted import Planted, left, planted
from tests.harness.conftest import PEERS, Finished
from tests.harness.judging.model_server import chat, verdict
from tests.harness.run.test_secrets import all_that_is_left
from tests.http_serving import Handler, serving

Command = Callable[..., Finished]
VARIABLE = "h2Kd-mQ9v~Lw4z-Rt7p~Xc1n-Bs6y~Jf3g-Uo8ez"
WEBHOOK = "Qz7pth9xaB4kLm2v"
SECRETS = (*planted(53, VARIABLE), Planted("path of url", WEBHOOK, (WEBHOOK,)))


class Telltale(Handler):
    """An endpoint that says every secret: to who asks for a reply in its error, to who asks to judge in its reasons."""

    def do_POST(self) -> None:
        asked = self.asked()
        said = " ".join(secret.text for secret in SECRETS)[:1_900]
        if asked["model"].startswith("writer"):
            number = int(asked["model"].removeprefix("writer"))
            self.answer(401, {"error": {"message": f"Incorrect: {SECRETS[number].text}. {said}"}}, X_Debug=SECRETS[1].text)
        elif asked["model"] == "broken":
            winner = json.dumps({"winner": "A", "strength": said, said: said})
            self.answer(*chat(winner), X_Debug=SECRETS[1].text)
        else:
            self.answer(*chat(verdict(asked, f"Because of {said}")), X_Debug=SECRETS[1].text)

    def send_response(self, code: int, message: str | None = None) -> None:
        super().send_response(code, message or SECRETS[0].text)


@pytest.fixture
def telltale() -> Iterator[str]:
    with serving(Telltale) as url:
        yield f"{url}/v1"


@pytest.mark.long
@pytest.mark.parametrize("repeats", [1, len(SECRETS)])
def test_what_is_said_is_left_nowhere(
    harness_virtual: Command, pack: Path, tmp_path: Path, telltale: str, repeats: int
) -> None:
    (tmp_path / "texts.json").write_text(json.dumps([secret.text for secret in SECRETS]))
    (tmp_path / "telltale.toml").write_text(
        'kind = "raw-pcm"\naccepts_history = true\ngreets = false\n[process]\nready_timeout_s = 60\n'
        f'command = ["{{python}}", "{PEERS / "telltale.py"}", "{tmp_path / "texts.json"}"]\n'
        '[metrics]\nserver = "vllm"\nstage = "llm"\n'
    )
    (tmp_path / "away.toml").write_text(
        f'kind = "raw-pcm"\nurl = "ws://127.0.0.1:9/hooks/{WEBHOOK}/ws#{WEBHOOK}"\n'
        'api_key_env = "BOT_VALUE"\naccepts_history = true\n'
    )
    (tmp_path / "started.toml").write_text(f'kind = "twilio"\nstart_url = "http://127.0.0.1:9/{WEBHOOK}"\n')
    writers = range(0, len(SECRETS), 8 if repeats == 1 else 1)
    for number in writers:
        (tmp_path / f"writer{number}.toml").write_text(
            f'kind = "text"\nmodel = "writer{number}"\nbase_url = "{telltale}"\ntimeout_s = 20\ntries = 1\n'
        )
    judge = f'family = "none"\nversion = "1"\nbase_url = "{telltale}"\nattempts = 1\n'
    for name in ("fair", "broken"):
        (tmp_path / f"{name}.toml").write_text(f'id = "{name}"\nmodel = "{name}"\n{judge}')
    agents = ["telltale", "away", *(f"writer{number}" for number in writers)]
    words = [word for name in agents for word in ("--agent", tmp_path / f"{name}.toml")]
    words += ["--agent", PEERS / "raw-pcm-answers.toml"]
    words += [word for name in ("fair", "broken") for word in ("--judge", tmp_path / f"{name}.toml")]
    value = {"BOT_VALUE": VARIABLE}
    run = tmp_path / "r"
    done = harness_virtual("run", "--pack", pack, *words, "--repeats", repeats, "--out", run, "--debug", **value)
    assert done.code == 3, done.err
    tried = harness_virtual("agents", "try", tmp_path / "telltale.toml", "--json", "--debug", **value)
    shown = harness_virtual("agents", "show", tmp_path / "started.toml", **value)
    assert "127.0.0.1:9/***" in shown.out
    exported = harness_virtual("export-traces", run, "--out", run / "spans.pb", "--json", **value)
    (tmp_path / "limits.yaml").write_text("ttfa_ms: {p50: 500}\n")
    checked = harness_virtual(
        "check", run, "--budgets", tmp_path / "limits.yaml", "--junit", run / "junit.xml", "--summary", run / "s.md", **value
    )
    texts = all_that_is_left(run)
    for name, command in {"run": done, "try": tried, "show": shown, "export": exported, "check": checked}.items():
        texts |= {f"{name}: output": command.out, f"{name}: error": command.err}
    assert left(texts, SECRETS) == []
    with closing(RunStore.open(run)) as store:
        sessions = {s.key.agent: s for s in store.sessions()}
        assert sessions["telltale"].failure_kind == "closed_early", done.err
        assert "***" in (sessions["telltale"].folder / "recording.json").read_text()
        assert "***" in (sessions["telltale"].folder / "spans.json").read_text()
        assert "***" in (run / "logs" / "telltale.log").read_text()
        assert "127.0.0.1:9/hooks/***/ws" in texts[f"{run / 'run.sqlite'} dumped"]
    assert list(leaks(run, {})) == []
