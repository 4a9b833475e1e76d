"""The researcher's side of a study at a platform: one module a verb (publish, collect, approve, …).

The door: `platform` says what a platform can do; `mturk` and `link` are the two that do it; the verbs take
one of them.
"""
