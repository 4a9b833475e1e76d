"""The database: its tables, how it is opened and migrated, and questions that several rooms ask of it."""
