"""Running a panel of one's own workers. The doors are `invitations`, `earnings` and `funds`."""
