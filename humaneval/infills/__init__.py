"""Fills blanks and stores the infills.

The door is `generate`. Beside it are processing, the rules that generators are checked against, and the Ray
cluster.
"""
