"""The marketplace's own database: `database` opens it, the other modules hold its tables."""
