"""The marketplace's own database: `database` opens it, the other modules hold its tables."""

from humaneval.market.tables import account, assignments, files, hits, qualifications, workers

# Imported here, so that whoever uses one table has all of them: foreign keys name the others.
__all__ = ["account", "assignments", "files", "hits", "qualifications", "workers"]
