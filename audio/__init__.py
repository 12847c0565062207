"""Sound: PCM and resampling, starts and ends of speech, caller voices, line conditions, transcription, playback.

Imports nothing of this project, so that every other room may use it. Sample arrays are mono; times carry their unit in
the name. Modules that need model weights take paths or callables, never look them up.
"""
