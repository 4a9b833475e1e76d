"""The marketplace's own database. The door is `database`; the other modules hold its tables."""

from humaneval.market.tables import account, assignments, hits, qualifications, uploads, workers

# Imported here so that all tables are known as soon as one is used: foreign keys name other tables.
__all__ = ["account", "assignments", "hits", "qualifications", "uploads", "workers"]
