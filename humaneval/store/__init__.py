"""The database: tables, engine and migrations, and queries that several rooms share.

The doors are `engine` (reading, writing), `tables` and `responses`.
"""
