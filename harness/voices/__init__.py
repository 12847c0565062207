"""The sound of callers: a voice for each context, rendered, cut from recordings, and checked by ear."""
