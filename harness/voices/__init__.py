"""The sound of callers: voices for contexts, rendered speech, cut recordings, and checks of the sound."""
