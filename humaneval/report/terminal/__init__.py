"""Scores, scores from counts, and analyses as tables for the terminal."""
