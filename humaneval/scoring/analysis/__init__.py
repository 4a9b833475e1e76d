"""Everything that a report says beside scores and comparisons. The door is `analyse`."""
