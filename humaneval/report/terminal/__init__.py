"""Tables for the terminal. The doors are `scores`, `counts` for scores from counts, and `analysis`."""
