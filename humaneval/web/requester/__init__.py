"""The requester's pages: read-only, behind a token in the address. The door is this module.

There is no log-in and no cookie, so the address is the key. It is printed for the person who started the
server. It is never logged, and no page hands it on in a referrer.
"""

from humaneval.web.requester.access_token import install, requester_address, token_of

__all__ = ["install", "requester_address", "token_of"]
