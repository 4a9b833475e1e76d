"""Marketplace, forms and annotators brought up together on this machine.

`demo` runs a whole study. `rehearsal` sends one simulated worker through a copy of a study. `screenshots`
takes pictures of pages. `amazon` runs programs with Amazon's address against the marketplace.
"""
