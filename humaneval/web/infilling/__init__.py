"""The infilling page: any text, its blanks filled by the generators that are here, side by side.

The doors are `create_app`, an application of its own; `register`, which puts the page into another one; and
`Desk`, which opens the generators and lets one request at a time use them.
"""

from humaneval.web.infilling.app import create_app, register
from humaneval.web.infilling.desk import Desk

__all__ = ["Desk", "create_app", "register"]
