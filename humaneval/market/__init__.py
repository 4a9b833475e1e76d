"""A self-hosted marketplace: Mechanical Turk's requester protocol for programs, a worker site for people."""

from humaneval.market.app import create_market_app
from humaneval.market.faults.kinds import SENT_AGAIN, Trouble
from humaneval.market.faults.plan import Faults
from humaneval.market.keys import Keys
from humaneval.market.serving import MarketServer
from humaneval.market.tables.database import Mode, open_account, open_market

__all__ = [
    "SENT_AGAIN",
    "Faults",
    "Keys",
    "MarketServer",
    "Mode",
    "Trouble",
    "create_market_app",
    "open_account",
    "open_market",
]
