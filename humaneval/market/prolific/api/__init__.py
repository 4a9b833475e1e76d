"""The REST API: a file for each kind of thing. Each view is a step at which a fault can happen."""
