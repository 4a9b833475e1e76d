"""`humaneval market`: run the self-hosted marketplace."""

from humaneval.cli.market.serve import market

__all__ = ["market"]
