"""Changes of a voice's network: an output for the length of each phoneme, and an input to change it.

Networks of the VITS kind and hibari's predict a duration for each phoneme, round it to frames, and spread everything else
over those frames. The rounded durations are the exact alignment of the speech, better than any that is found
afterwards; and a factor put in before the rounding lengthens one syllable without touching the rest. Both are made on the
network's own graph when it is loaded; its weights stay as they are.
"""

from __future__ import annotations

from pathlib import Path

from harness.audio.voice_error import VoiceError

DURATIONS = "phoneme_frames"
STRETCH = "phoneme_stretch"


def with_durations(model_path: Path, rounding: str, after: str | None, shape: list[int | str]) -> bytes:
    """The network at `model_path` with one more input and one more output.

    `STRETCH` (float, `shape`) multiplies the input of its one `rounding` operator; `DURATIONS` is that operator's output, or
    that of the `after` operator that it feeds.

    Raises `VoiceError` if the package is missing or the network is of another kind.
    """
    try:
        import onnx
    except ImportError as error:
        raise VoiceError('the package "onnx" is missing: pip install "heart-voice-harness[local]"') from error
    try:
        model = onnx.load(str(model_path))
    except Exception as error:  # protobuf raises its own kinds
        raise VoiceError(f"{model_path} cannot be read as an ONNX network") from error
    graph = model.graph
    found = [node for node in graph.node if node.op_type == rounding]
    if len(found) != 1:
        raise VoiceError(f"{model_path} does not round its durations once ({len(found)} {rounding} operators)")
    node = found[0]
    last = node
    if after is not None:
        followers = [other for other in graph.node if other.op_type == after and node.output[0] in other.input]
        if len(followers) != 1:
            raise VoiceError(f"{model_path} bounds its durations in a way that is not known here")
        last = followers[0]
    graph.input.append(onnx.helper.make_tensor_value_info(STRETCH, onnx.TensorProto.FLOAT, shape))
    place = list(graph.node).index(node)
    graph.node.insert(place, onnx.helper.make_node("Mul", [node.input[0], STRETCH], [f"{STRETCH}_ed"]))
    graph.node[place + 1].input[0] = f"{STRETCH}_ed"
    graph.node.append(onnx.helper.make_node("Identity", [last.output[0]], [DURATIONS]))
    graph.output.append(onnx.helper.make_tensor_value_info(DURATIONS, onnx.TensorProto.FLOAT, None))
    return bytes(model.SerializeToString())
