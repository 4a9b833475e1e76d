"""From responses to scores: exclusions, comparisons, the score table; no database.

The doors are `scores`, and `from_counts` for scores of which only counts are known.
"""
