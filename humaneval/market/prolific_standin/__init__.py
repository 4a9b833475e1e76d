"""A stand-in for Prolific: its REST API for programs, and pages on which people take part in studies.

It is written from Prolific's public documents, for tests without money. The door is what this module exports.
It shares the clock, the plans of faults, and the way of serving with the marketplace, and nothing with
`humaneval.crowd`. What the documents leave open is a value of `Terms`, or a comment that says "unverified".

- serving, app, site, api: the running server; participants' pages; a file for each part of the API.
- faults, deliveries, deadlines: what goes wrong; events on their way; what happens when time has passed.
- studies, submissions, taking_part, bonuses, groups, hooks: what researchers and participants can do.
- outcomes, money: what becomes of a submission, and of the account's money.
- study_fields, completion_codes, filters, paging, shown, refusals: what comes in and goes out.
- database, tables, terms: the file, and the terms of the account.
"""

from humaneval.market.faults.plan import Faults
from humaneval.market.prolific_standin.database import open_prolific
from humaneval.market.prolific_standin.faults import ProlificFault
from humaneval.market.prolific_standin.serving import ProlificServer
from humaneval.market.prolific_standin.terms import Terms

__all__ = ["Faults", "ProlificFault", "ProlificServer", "Terms", "open_prolific"]
