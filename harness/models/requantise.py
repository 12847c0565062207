"""Conversion of a model from Q4_1 to Q8_0 in one pass, so that a small language model answers faster on CPUs.

The wheel that contains SmolLM2 has it as Q4_1. On x86 CPUs llama.cpp's Q8_0 kernels need less work per weight, and the
prompt of a call, for which the first token waits, is bound by that work and not by memory. No precision is regained:
each weight stays as Q4_1 rounded it, within Q8_0's own rounding (half of 1/127 of the largest of its block of 32).
Norms stay F32, and every metadata field, the tokenizer included, is copied unchanged.

The result is the same bytes on every machine: all arithmetic is elementwise IEEE float32, and fields and tensors keep
their order. Therefore the catalogue can pin its SHA-256.
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import UserError


def requantise(source: Path, target: Path) -> None:
    """Write the GGUF file `source` to `target` with every Q4_1 tensor as Q8_0.

    Raises `UserError` where the package that reads the format is missing.
    """
    try:
        from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, quants
    except ImportError as error:
        raise UserError('the package "gguf" is missing: pip install "heart-voice-harness[local]"') from error

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue  # the writer makes these itself
        value = int(LlamaFileType.MOSTLY_Q8_0) if name == "general.file_type" else field.contents()
        item_type = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, field.types[0], sub_type=item_type)
    for tensor in reader.tensors:
        if tensor.tensor_type == GGMLQuantizationType.Q4_1:
            plain = quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(
                tensor.name, quants.quantize(plain, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0
            )
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
