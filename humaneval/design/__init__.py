"""Which annotator sees which passages, in which order. Pure: values in, rows out.

The door is `rows.make_design`.
"""
