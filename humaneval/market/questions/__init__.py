"""A HIT's question and a worker's answer to it: read, checked, scored. The door is `question`."""
