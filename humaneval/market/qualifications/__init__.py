"""Qualifications: their types, their holders, a worker's standing to them, and a HIT's requirements.

The doors are `qualification_types` and `holders` for the API, and `requirements` for the workers who may take
a HIT.
"""
