"""Everything that a report says besides scores and comparisons. The door is `analyse`."""
