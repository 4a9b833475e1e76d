"""A marketplace that remembers no token: the same call makes another HIT, and pays again."""

from datetime import timedelta

from humaneval.market import request_tokens

request_tokens.REMEMBERED = timedelta(0)
