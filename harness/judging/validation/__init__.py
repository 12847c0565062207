"""The worth of a judge: its answers on pairs with known answers, and on replies that people compared or rated.

A judge's verdicts are an opinion until people's judgements bear it out. `checks` asks about pairs of this project (`labelled`),
and `red_lines` about replies that no supporter may give: these can only take trust away. `label_files` and `published_labels`
read people's judgements (`peoples_labels`), `against_people` compares, `yardsticks` has rules and raters beside the judge,
`trust` every limit, and `sentences` the words.
"""
