"""The recipe of the reader: a small cross-encoder of conversation and reply, tuned on material where length says nothing.

Sentence vectors that nobody tuned leave a head little but the length of a reply to go by. So here the encoder itself is
tuned, each reply is read together with its conversation, and a term for length takes up in training whatever length explains
of each origin, and is thrown away afterwards.
"""
