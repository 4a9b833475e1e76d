"""Running a panel of one's own workers: invitations, earnings, and the account's money."""
