"""A marketplace that never forgets a token, although the real one did after a day."""

from datetime import timedelta

from humaneval.market.protocol import request_tokens as tokens

tokens.REMEMBERED = timedelta(days=36_500)
