"""A lab's own panel: invitations, what people earned, and the account's money."""
