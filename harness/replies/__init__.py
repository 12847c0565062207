"""A reply is one thing: its utterances, each a backchannel, a filler or an answer, and the instant at which it is over.

The caller reads it during a call (`harness.replies.ending`: may I speak, may I hang up), and timing afterwards
(`harness.replies.kinds`: which utterance counts for which figure), so that both mean the same reply.
"""
