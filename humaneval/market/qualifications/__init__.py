"""Qualifications: their types, who holds them, their tests, and what a HIT asks for."""
