"""Score tables for the terminal."""
