"""The small language model as a scorer: how likely is this reply here, and which of two letters would it say.

llama.cpp's server gives no probabilities of a prompt's own tokens, and likelihoods of a given text are what judging needs.
CTranslate2, which the recogniser brings anyway, scores whole batches of texts and runs this model at about 1,200 tokens a
second on two cores. So the GGUF weights are dequantised with ggml's own reader and laid out once in CTranslate2's form,
int8, beside the GGUF file.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import UserError

LAYOUT_VERSION = 1
_SPECIAL_TOKEN = 3
"""GGUF's token type `control`."""
LONGEST_TOKENS = 1_024
"""A prompt keeps its newest tokens: older turns say least about the next one, and cost the most."""


class LanguageModel:
    """A loaded model. Not thread-safe; one question at a time."""

    def __init__(self, folder: Path, threads: int = 2) -> None:
        import ctranslate2
        from tokenizers import Tokenizer

        self._generator = ctranslate2.Generator(
            str(folder), device="cpu", compute_type="int8", intra_threads=threads, inter_threads=1
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    @classmethod
    def load(cls, gguf_path: Path, threads: int = 2) -> "LanguageModel":
        """Load the model of a GGUF file, laying it out first if that has not been done.

        Raises:
            UserError: the file is missing, damaged, or not a Llama-like model; or the `local` extra is not installed.
        """
        try:
            import ctranslate2  # noqa: F401
            import gguf  # noqa: F401
            import tokenizers  # noqa: F401
        except ImportError as error:
            raise UserError(
                f"the embedded judge needs {error.name}; install it with: pip install 'heart-voice-harness[local]'"
            ) from error
        if not gguf_path.is_file():
            raise UserError(f"embedded judge: no model file at {gguf_path}; run `harness models`")
        folder = gguf_path.with_name(f"{gguf_path.stem}.ct2-int8-v{LAYOUT_VERSION}")
        if not (folder / "tokenizer.json").is_file():
            _lay_out(gguf_path, folder)
        return cls(folder, threads)

    def tokens(self, text: str) -> list[str]:
        """The model's tokens of a text; control tokens in it are recognised, so untrusted text must be cleaned first."""
        return list(self._tokenizer.encode(text).tokens)

    def log_probabilities(self, prefixes: Sequence[str], texts: Sequence[str]) -> list[NDArray[np.float64]]:
        """Natural log probability of each token of `texts[k]` after `prefixes[k]`."""
        heads = [self.tokens(p)[-LONGEST_TOKENS:] for p in prefixes]
        bodies = [self.tokens(t)[:LONGEST_TOKENS] for t in texts]
        scored = self._generator.score_batch([h + b for h, b in zip(heads, bodies, strict=True)])
        return [
            np.asarray(result.log_probs, dtype=np.float64)[len(head) - 1 :]
            for head, result in zip(heads, scored, strict=True)
        ]

    def next_token(self, prompts: Sequence[str], choices: Sequence[str]) -> NDArray[np.float64]:
        """Log probabilities (prompts × choices), normalised over the choices, of the first token of each choice."""
        ids = [self._tokenizer.encode(choice).ids[0] for choice in choices]
        results = self._generator.generate_batch(
            [self.tokens(p)[-LONGEST_TOKENS:] for p in prompts],
            max_length=1,
            return_logits_vocab=True,
            include_prompt_in_result=False,
        )
        logits = np.stack([np.array(result.logits[0][0], dtype=np.float32)[ids] for result in results]).astype(
            np.float64
        )
        shifted = logits - logits.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), dtype=np.float64)


def cleaned(text: str) -> str:
    """Untrusted text that can no longer contain control tokens such as `<|im_end|>`."""
    return text.replace("<|", "< |")


def _lay_out(gguf_path: Path, folder: Path) -> None:
    """Write the model in CTranslate2's form, then rename into place, so that a killed run leaves nothing half done."""
    scratch = Path(tempfile.mkdtemp(prefix=".ct2-", dir=folder.parent))
    try:
        try:
            _convert(gguf_path, scratch)
        except (ValueError, KeyError, IndexError, AttributeError) as error:
            raise UserError(f"{gguf_path}: not a GGUF file of a Llama-like model ({error}); fetch it again") from error
        try:
            os.rename(scratch, folder)
        except OSError:
            if not (folder / "tokenizer.json").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(gguf_path: Path, out: Path) -> None:
    import gguf
    from ctranslate2.specs import common_spec, transformer_spec

    reader = gguf.GGUFReader(str(gguf_path))
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weight(name: str) -> NDArray[np.float32]:
        tensor = tensors[name]
        return np.asarray(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)

    def fact(name: str) -> Any:
        return reader.fields[name].contents()

    if fact("general.architecture") != "llama":
        raise ValueError(f"architecture {fact('general.architecture')}")
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        fact("llama.block_count"),
        fact("llama.attention.head_count"),
        activation=common_spec.Activation.SWISH,
        pre_norm=True,
        ffn_glu=True,
        rms_norm=True,
        rotary_dim=0,
        rotary_interleave=True,  # GGUF keeps query and key rows permuted for interleaved rotation.
        rotary_base=fact("llama.rope.freq_base"),
        num_heads_kv=fact("llama.attention.head_count_kv"),
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = weight("token_embd.weight")
    decoder.projection.weight = weight("output.weight") if "output.weight" in tensors else decoder.embeddings.weight
    decoder.layer_norm.gamma = weight("output_norm.weight")
    for n, layer in enumerate(decoder.layer):
        block = f"blk.{n}."
        layer.self_attention.layer_norm.gamma = weight(block + "attn_norm.weight")
        layer.self_attention.linear[0].weight = np.concatenate([weight(f"{block}attn_{part}.weight") for part in "qkv"])
        layer.self_attention.linear[1].weight = weight(block + "attn_output.weight")
        layer.ffn.layer_norm.gamma = weight(block + "ffn_norm.weight")
        layer.ffn.linear_0.weight = weight(block + "ffn_gate.weight")
        layer.ffn.linear_0_noact.weight = weight(block + "ffn_up.weight")
        layer.ffn.linear_1.weight = weight(block + "ffn_down.weight")
    tokens = fact("tokenizer.ggml.tokens")
    spec.register_vocabulary(tokens)
    spec.config.bos_token = tokens[fact("tokenizer.ggml.bos_token_id")]
    spec.config.eos_token = tokens[fact("tokenizer.ggml.eos_token_id")]
    spec.config.unk_token = tokens[fact("tokenizer.ggml.unknown_token_id")]
    spec.config.layer_norm_epsilon = fact("llama.attention.layer_norm_rms_epsilon")
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(str(out))
    types = fact("tokenizer.ggml.token_type")
    _save_tokenizer(tokens, fact("tokenizer.ggml.merges"), types, out / "tokenizer.json")


def _save_tokenizer(tokens: Sequence[str], merges: Sequence[str], types: Sequence[int], path: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pairs = [(left, right) for left, right in (merge.split(" ", 1) for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={token: n for n, token in enumerate(tokens)}, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, types, strict=True)
            if kind == _SPECIAL_TOKEN
        ]
    )
    path.write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False), encoding="utf-8")
