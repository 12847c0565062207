"""Last turns are as long as people's, and no length stands for one kind of caller.

An agent that counts words would otherwise know the end of a turn from its length alone, and look better here than it is.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from harness.audio.prosody_emotions import RENDERED_AS
from harness.scenarios import Context, load_pack, shipped_packs

PEOPLE = ((8, 0.25), (19, 0.50), (40, 0.75), (67, 0.90))
"""Words and share of turns: clients in AnnoMI (Wu et al., ICASSP 2022), joined over listeners' turns of one or two words."""
LEAST_WORDS, MOST_WORDS = 6, 90
BANDS = ((6, 15), (16, 25), (26, 40), (41, 60), (61, 90))
FAMILIES = {
    "anger": {"anger", "frustration"},
    "fear": {"fear"},
    "sadness": {"sadness", "despair"},
    "shame": {"shame"},
}


def words_said(contexts: Sequence[Context]) -> npt.NDArray[np.int_]:
    return np.array([len(context.spoken.plain.split()) for context in contexts])


def peoples_share(words: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Share of people's turns of at most so many words: straight lines over log words, carried on at both ends."""
    at, share = np.log([w for w, _ in PEOPLE]), np.array([s for _, s in PEOPLE])
    slopes = np.diff(share) / np.diff(at)
    x = np.log(words)
    inside = np.interp(x, at, share)
    return np.asarray(inside + np.minimum(0, x - at[0]) * slopes[0] + np.maximum(0, x - at[-1]) * slopes[-1])


@pytest.mark.parametrize("name", shipped_packs())
def test_lengths_follow_peoples(name: str) -> None:
    lengths = np.sort(words_said(load_pack(name).contexts))
    assert lengths[0] >= LEAST_WORDS
    assert lengths[-1] <= MOST_WORDS
    low, high = peoples_share(np.array([LEAST_WORDS - 0.5, MOST_WORDS + 0.5]))
    grid = np.arange(LEAST_WORDS, MOST_WORDS + 1, dtype=np.float64)
    meant = (peoples_share(grid + 0.5) - low) / (high - low)
    assert np.abs(np.searchsorted(lengths, grid, "right") / len(lengths) - meant).max() <= 0.08


@pytest.mark.parametrize("name", shipped_packs())
def test_words_said_do_not_tell_an_end_from_a_gap_between_words(name: str) -> None:
    ends = words_said(load_pack(name).contexts)
    gaps = np.concatenate([np.arange(1, words) for words in ends])
    above = (ends[:, None] > gaps).mean() + (ends[:, None] == gaps).mean() / 2
    assert 0.40 <= above <= 0.65


def test_every_band_of_lengths_holds_both_subsets_and_all_families_of_emotion() -> None:
    contexts = load_pack("heart-open").contexts
    for low, high in BANDS:
        band = [c for c, words in zip(contexts, words_said(contexts), strict=True) if low <= words <= high]
        assert {c.subset for c in band} == {"regular", "adversarial"}
        rendered = {RENDERED_AS[c.emotion] for c in band}
        assert all(rendered & family for family in FAMILIES.values())
