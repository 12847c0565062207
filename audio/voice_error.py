"""The error of a voice that cannot speak: its file is damaged, its service fails, or it cannot do what is asked of it."""


class VoiceError(RuntimeError):
    """A voice cannot be loaded or cannot speak; the message is one line."""
