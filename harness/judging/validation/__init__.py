"""The worth of a judge: its answers on pairs with known answers, and on replies that people compared or rated.

A judge's verdicts are an opinion until people's judgements bear it out. `labelled`, `checks` and `canaries` ask about pairs of
this project, which can only take trust away; `peoples_labels` reads people's files, `against_people` compares, and `trust` says
what follows.
"""
