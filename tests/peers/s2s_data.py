"""What speech-to-speech fetches from other places when it starts, put where it looks first: `python s2s_data.py FOLDER`.

Its detector of speech comes from the package `silero-vad` instead of a repository; its splitter of sentences gets tables
without entries, which split at full stops. The server itself stays as it was installed.
"""

import sys
from importlib.metadata import files
from pathlib import Path

PUNKT = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
HUB = """\
import torch


def silero_vad(**_):
    return torch.jit.load({model!r}), None
"""

folder = Path(sys.argv[1])
hub = folder / "torch" / "hub" / "snakers4_silero-vad_master"
hub.mkdir(parents=True, exist_ok=True)
(model,) = (file.locate() for file in files("silero-vad") or () if file.name == "silero_vad.jit")
(hub / "hubconf.py").write_text(HUB.format(model=str(model)), encoding="utf-8")
english = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
english.mkdir(parents=True, exist_ok=True)
for name in PUNKT:
    (english / name).write_text("", encoding="utf-8")
(folder / "nltk" / "taggers" / "averaged_perceptron_tagger_eng").mkdir(parents=True, exist_ok=True)
