"""The worker site: every page that a worker's browser sees. The door is `worker_site`."""
