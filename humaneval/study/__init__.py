"""A stored study: its file, how it is created, read, enlarged, audited, planned and scored. The door is
`stored`."""
