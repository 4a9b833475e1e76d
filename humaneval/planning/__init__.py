"""What a study can find out and what it costs, before anybody is paid; no database.

The doors are `plan`, `forecast` for what follows by formula, and `simulation`.
"""
