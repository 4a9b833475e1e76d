"""The worker site: every page that a worker's browser sees."""
