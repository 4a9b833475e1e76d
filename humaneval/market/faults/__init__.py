"""Faults that can be injected to test programs: kinds, plans, effects, and their administration."""
