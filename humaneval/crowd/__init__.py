"""The researcher's side of a study at a platform: one module for each verb (publish, collect, approve, …).

The door is `study_at`: it opens a study at a platform, and every verb takes the result. `platform` says what
a platform can do. `mturk`, `prolific`, `link` and `mturk_csv` are the platforms.
"""
