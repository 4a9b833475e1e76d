"""Marketplace, forms and annotators brought up together on this machine.

The doors are `up`, which serves everything around one study, and `demo`, which runs a whole one. Both use
`servers`, `watch` and `browser`; `addresses` keeps the ports of `up`. `rehearsal` sends one simulated worker
through a copy of a study. `screenshots` takes pictures of pages. `amazon` runs programs with Amazon's address
against the marketplace.
"""
