"""A HIT's question, and a worker's answers to it: reading, checking, scoring. The door is `question`."""
