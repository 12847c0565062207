"""The own time of a stage is found where its work was, on the path to what was heard or hidden behind a wait."""

import pytest

from harness.agents import marks
from harness.agents.connection import Mark
from harness.timing.chain import Stamps
from harness.timing.waterfall import own_times

MS = 1_000_000
SPECULATED = (
    (marks.ASR_STARTED, 100, None), (marks.ASR_DONE, 160, None),
    (marks.LLM_CALLED, 165, 1), (marks.LLM_REQUESTED, 170, 1), (marks.LLM_FIRST_TOKEN, 290, 1),
    (marks.TTS_STARTED, 320, 1), (marks.TTS_FIRST_AUDIO, 365, 1),
    # Withdrawn: the caller went on.
    (marks.ASR_STARTED, 900, None), (marks.ASR_DONE, 980, None),
    (marks.LLM_CALLED, 985, 2), (marks.LLM_REQUESTED, 990, 2), (marks.LLM_FIRST_TOKEN, 1090, 2),
    (marks.TTS_STARTED, 1100, 2), (marks.TTS_FIRST_AUDIO, 1150, 2),
    (marks.TURN_DECIDED, 1900, None), (marks.AUDIO_SENT, 1905, 2),
)  # fmt: skip


def stamps(steps: tuple[tuple[str, int, int | None], ...]) -> Stamps:
    return Stamps(Mark(name, at * MS, at * MS, {} if request is None else {"request": request}) for name, at, request in steps)


def test_hidden_work_of_the_reply_that_was_heard_has_its_time() -> None:
    found = own_times(stamps(SPECULATED), 1_950 * MS, 0)
    assert found == {"asr": pytest.approx(80), "llm": pytest.approx(100), "tts": pytest.approx(50)}


def test_a_transcription_before_the_turn_is_not_its() -> None:
    assert "asr" not in own_times(stamps(SPECULATED), 1_950 * MS, 950 * MS)


def test_a_recogniser_busy_with_earlier_words_took_that_time_too() -> None:
    busy = (*SPECULATED, (marks.SILENCE_SEEN, 860, None), (marks.ASR_STARTED, 700, None), (marks.ASR_DONE, 895, None))
    assert own_times(stamps(busy), 1_950 * MS, 0)["asr"] == pytest.approx(120)
    idle = (*SPECULATED, (marks.SILENCE_SEEN, 860, None))
    assert own_times(stamps(idle), 1_950 * MS, 0)["asr"] == pytest.approx(80)


def test_a_wait_for_silence_to_last_is_not_the_recognisers() -> None:
    waited = (
        *SPECULATED, (marks.SILENCE_SEEN, 500, None), (marks.ASR_STARTED, 450, None), (marks.ASR_DONE, 510, None),
    )  # fmt: skip
    found = own_times(stamps(waited), 1_950 * MS, 0)
    assert found["asr"] == pytest.approx(80), "it was idle from 510 on, and began at 900 once the silence had lasted"


def test_words_count_that_came_before_the_context_reached_the_models_client() -> None:
    late = (*SPECULATED, (marks.ASR_STARTED, 986, None), (marks.ASR_DONE, 988, None))
    assert own_times(stamps(late), 1_950 * MS, 0)["asr"] == pytest.approx(80), "the request was made of the words before"
    uncalled = tuple(step for step in SPECULATED if step[0] != marks.LLM_CALLED)
    assert own_times(stamps(uncalled), 1_950 * MS, 0)["asr"] == pytest.approx(80)
