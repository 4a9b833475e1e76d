"""Faults that can be injected to test programs: kinds, plans, effects, and their administration.

The door is `plan.Faults`, which says what goes wrong with each step.
"""
