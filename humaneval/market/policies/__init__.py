"""Review policies as values. The doors are `parameters`, which reads them, and `agreement`.

`market.review_policies` applies them.
"""
