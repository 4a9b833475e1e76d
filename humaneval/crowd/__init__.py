"""The researcher's side of a study at a platform: one module for each verb (publish, collect, approve, …).

The door: `study_at` opens a study at a platform, and every verb takes the result. `platform` says what a
platform can do; `mturk` and `link` are the two platforms.
"""
