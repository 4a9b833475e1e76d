"""McNemar's exact and mid-p tests and the Bonett–Price interval of a table of pairs, from their definitions:
what the product's sign flips and exact powers are held against."""

from __future__ import annotations

from math import comb, sqrt


def mcnemar_exact(first_only: int, second_only: int) -> float:
    """The two-sided p-value, 2·P(Bin(b + c, ½) ≤ min(b, c)), at most 1."""
    n = first_only + second_only
    ways = sum(comb(n, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * ways / 2**n)


def mcnemar_mid(first_only: int, second_only: int) -> float:
    """The two-sided mid-p: the exact p less P(Bin(b + c, ½) = min(b, c)), at most 1."""
    n, few = first_only + second_only, min(first_only, second_only)
    return min(1.0, 2 * (sum(comb(n, k) for k in range(few)) + comb(n, few) / 2) / 2**n)


def bonett_price_low(first_only: int, second_only: int, n: int, quantile: float = 1.959963984540054) -> float:
    """The lower end, not cut at −1: p12 − p21 − z·√((p12 + p21 − (p12 − p21)²)/(n + 2)), where one is added
    to both counts of discordant pairs and two to `n`."""
    p12, p21 = (first_only + 1) / (n + 2), (second_only + 1) / (n + 2)
    return p12 - p21 - quantile * sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))
