"""Arrays in, figures out: one method a module. Knows no study, no table and no database."""
