"""Faults on purpose: what goes wrong, how often, and how it is brought about."""
