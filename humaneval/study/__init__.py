"""A study: its file, how it is created, opened, enlarged, audited, planned and scored.

The door is `stored`, which opens a study, and the other modules take the result. `file` reads study files,
and `create` makes a study.
"""
