"""The pure parts of short-window transcription: the window's length and the guard against loops."""

from agents.cascade.short_context_whisper import looks_looped, window_frames


def test_window_is_clip_and_padding_within_bounds() -> None:
    assert window_frames(100, least=800, padding=200) == 800
    assert window_frames(900, least=800, padding=200) == 1100
    assert window_frames(2950, least=800, padding=200) == 3000


def test_loops_are_seen_and_speech_is_not_mistaken_for_them() -> None:
    assert looks_looped("and I just " * 30, seconds=10)
    assert looks_looped("one two three four five six seven eight nine ten eleven twelve", seconds=0.5)
    assert not looks_looped("I lost my job last week and I haven't told my wife yet.", seconds=3.4)
    assert not looks_looped("No, no, no.", seconds=1.0)
