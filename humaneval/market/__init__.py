"""A self-hosted marketplace: Mechanical Turk's requester protocol for programs, a worker site for people.

The door is what this module exports. Its layers, each of which uses only those below it:

- serving, app: the running server and its Flask application.
- pages: the worker site. prolific_standin: plays Prolific, and shares only what lies below with it.
- wire, panel: the protocol over HTTP; invitations, earnings and funds for the people who run a panel.
- faults: what can be made to go wrong, to test programs.
- operations, and the modules beside it: what requesters and workers can do.
- qualifications, policies: what a HIT requires of workers, and how it reviews their answers by itself.
- questions: what a HIT asks.
- tables: the database.
- protocol: ids, values, refusals and XML as Mechanical Turk has them.
"""

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
