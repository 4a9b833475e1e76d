"""Qualifications: their types, their holders, a worker's standing to them, and a HIT's requirements."""
