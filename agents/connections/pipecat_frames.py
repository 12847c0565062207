"""pipecat's protobuf frames, described here from its public definition, so that no pipecat has to be installed.

They are built from a descriptor when they are first used and have their own pool. So no generated code ties the harness to one
protobuf (4, 5, 6 and 7 run it), and a pipecat in the same process, whose frames have the same names, is not disturbed.

Source: `pipecat/frames/frames.proto`, the same bytes in pipecat 1.9 to 1.14.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_FRAMES: Final[Mapping[str, str]] = {
    "TextFrame": "uint64 id, string name, string text",
    "AudioRawFrame": "uint64 id, string name, bytes audio, uint32 sample_rate, uint32 num_channels, uint64 pts?",
    "TranscriptionFrame": "uint64 id, string name, string text, string user_id, string timestamp",
    "MessageFrame": "string data",
    "InterruptionFrame": "uint64 id, string name",
}
"""Fields in the order of their numbers; `?` after one that may be absent."""
_ONE_OF: Final = (
    ("text", "TextFrame"), ("audio", "AudioRawFrame"), ("transcription", "TranscriptionFrame"),
    ("message", "MessageFrame"), ("interruption", "InterruptionFrame"),
)  # fmt: skip
_TYPES: Final = {
    "uint64": FieldDescriptorProto.TYPE_UINT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
}


@cache
def frame_class() -> Any:
    """The class of pipecat's `Frame`: one of a text, sound, a transcription, a message or an interruption."""
    file = FileDescriptorProto(name="frames.proto", package="pipecat", syntax="proto3")
    for name, fields in _FRAMES.items():
        message = file.message_type.add(name=name)
        for number, words in enumerate(fields.split(", "), 1):
            kind, _, field = words.rstrip("?").partition(" ")
            made = message.field.add(name=field, number=number, type=_TYPES[kind], label=FieldDescriptorProto.LABEL_OPTIONAL)
            if words.endswith("?"):
                message.oneof_decl.add(name=f"_{field}")
                made.proto3_optional, made.oneof_index = True, len(message.oneof_decl) - 1
    frame = file.message_type.add(name="Frame")
    frame.oneof_decl.add(name="frame")
    for number, (field, kind) in enumerate(_ONE_OF, 1):
        made = frame.field.add(name=field, number=number, type=FieldDescriptorProto.TYPE_MESSAGE, type_name=f".pipecat.{kind}")
        made.label, made.oneof_index = FieldDescriptorProto.LABEL_OPTIONAL, 0
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("pipecat.Frame"))
