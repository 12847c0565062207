"""Keys that show by their shape, and the strings of logs that look a little like them."""

import random
import re
import string
from functools import partial

import pytest

from harness.agents.secret_shapes import is_path_token, known_shapes, mask_shapes, random_strings
from harness.agents.secrets import MASK, Redactor


def _some(count: int, seed: int = 1, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(random.Random(seed).choices(letters, k=count))


LOWER = string.ascii_lowercase
CAPITALS = string.ascii_uppercase
KNOWN = [
    "sk-" + _some(24, letters=LOWER), "sk-proj-" + _some(24, letters=LOWER), "sk_live_" + _some(24, letters=LOWER),
    "ghp_" + _some(36, letters=LOWER), "github_pat_" + _some(40, letters=LOWER), "glpat-" + _some(20, letters=LOWER),
    "xoxb-" + _some(24, letters=LOWER), "AKIA" + _some(16, letters=CAPITALS), "AIza" + _some(35, letters=LOWER),
    "eyJ" + _some(20, letters=LOWER) + "." + _some(20, letters=LOWER) + "." + _some(20, letters=LOWER),
    "hf_" + _some(34, letters=LOWER), "gsk_" + _some(40, letters=LOWER), "npm_" + _some(36, letters=LOWER),
    "SG." + _some(20, letters=LOWER) + "." + _some(20, letters=LOWER), "SK" + _some(32, letters="0123456789abcdef"),
    "-----BEGIN RSA PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize("key", KNOWN, ids=lambda key: key[:6])
@pytest.mark.parametrize("around", ["{}", "key {} refused", "('{}')", "url/{}/x"])
def test_an_issuers_prefix_shows_a_key(key: str, around: str) -> None:
    assert Redactor.of([]).foreign(around.format(key)) == around.format(MASK)
    assert [around.format(key)[a:b] for a, b in known_shapes(around.format(key))] == [key]


@pytest.mark.parametrize("length", [24, 32, 40, 64])
def test_most_random_strings_show_as_such(length: int) -> None:
    found = sum(MASK in mask_shapes(f"sent {_some(length, seed)} off", MASK) for seed in range(400))
    assert found > 0.85 * 400


@pytest.mark.parametrize(
    "line",
    [
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "550e8400-e29b-41d4-a716-446655440000",
        "2026-11-24T19:46:31.561123+00:00", "pipecat.services.openai.tts:OpenAITTSService#0", "LocalSmartTurnAnalyzerV3",
        "/usr/lib/python3.11/site-packages/pydantic/v1/V1ValidatorWithValuesKwOnly.py",
        "whisper-tiny.en-int8-ggml-model-q4_0.gguf",
        "MZ829a76018f96b41bcfdf49afd7f00d1e", "sk-learn and sk-", "ghost_writers_of_the_old_house", "eyJust.a word",
        "SKIPPED [1] tests/test_everything_that_there_is_to_test.py:123", "Raw24Khz16BitMonoPcm", "hf_hub_download",
        "task-agents-and-other-long-words-with-dashes", "12345678901234567890", "A" * 200, "ab" * 100, "=" * 80,
    ],
    ids=lambda line: line[:12],
)  # fmt: skip
def test_names_hashes_and_times_of_logs_are_left_alone(line: str) -> None:
    assert mask_shapes(line, MASK) == line


def _last_of(digits: str, size: re.Match[str]) -> str:
    return digits[-int(size[1]) :]


@pytest.mark.parametrize(
    "form",
    ["{64}", "sha256-{64}", "{32}-{16}", "Judge_{16}_{16}", "Qwen3-4B-Instruct-2507-Q4_K_M-{8}",
     "SmolLM2-360M-Instruct-Q8_0-{8}",
     "Talker-Goes-On_{32}", "CA{32}", "models--Qwen--Qwen3-4B/snapshots/{40}"],
)  # fmt: skip
def test_names_with_hashes_are_no_keys(form: str) -> None:
    """The hashes that this program itself makes, of any content."""
    for seed in range(300):
        digits = _some(64, seed, letters="0123456789abcdef")
        name = re.sub(r"{(\d+)}", partial(_last_of, digits), form)
        assert mask_shapes(name, MASK) == name


@pytest.mark.parametrize(
    "token",
    ["7420f27a-30fd-4f49-a995-5549ae7cc00d", "Qz7pth9xaB4kLm2v", "9f86d081884c7d65", "s3cr3tp4th", "AC" + "0a1b2c3d" * 4,
     "hqzwxjvkpbnmtrdslfgycawoe", "123456789012345678"],
)  # fmt: skip
def test_a_random_segment_of_an_address_is_a_token(token: str) -> None:
    assert is_path_token(token)
    masked = Redactor.of([]).foreign(f"GET wss://host/hooks/{token}/ws failed")
    assert masked == f"GET wss://host/hooks/{MASK}/ws failed"


@pytest.mark.parametrize("segment", ["v1", "v1beta1", "media-stream", "twilio2", "gpt-4o-realtime-preview-2024-12-17",
    "google.ai.generativelanguage.v1beta.Service.Content",
    "calls", "agents", "smart-turn-v3", "handleIncomingStream", "ws_8khz", "l16-16khz", "whisper-1", "2026-11-27",
    "{port}"])  # fmt: skip
def test_the_name_of_a_route_is_no_token(segment: str) -> None:
    assert not is_path_token(segment)


def test_a_string_is_found_with_its_place() -> None:
    key = "aB3xK9mQ7zW2pL5vN8rT"
    assert list(random_strings(f"one {key}, two")) == [(4, 4 + len(key))]
