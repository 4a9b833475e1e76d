"""The REST API: a file for each kind of thing. The door is the blueprint of each.

Each view is a step at which a fault can happen.
"""
