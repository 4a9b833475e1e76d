"""A marketplace that remembers no token: the same call makes another HIT, and pays again."""

from datetime import timedelta

from humaneval.market.protocol import request_tokens as tokens

tokens.REMEMBERED = timedelta(0)
