"""A marketplace that never forgets a token, although the real one did after a day."""

from datetime import timedelta

from humaneval.market import request_tokens

request_tokens.REMEMBERED = timedelta(days=36_500)
