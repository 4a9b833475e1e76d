"""Review policies as values: their parameters, and what they measure. `review_policies` applies them."""
