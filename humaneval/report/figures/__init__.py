"""The report's plots."""
