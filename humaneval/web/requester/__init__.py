"""The requester's pages: read-only, behind a token in the address. The door is this module, and for servers
`access_token.install`, which loads all that the pages show.

There is no log-in and no cookie, so the address is the key. It is printed for the person who started the
server. It is never logged, and no page hands it on in a referrer.
"""

from humaneval.web.requester.address import requester_address, token_of

__all__ = ["requester_address", "token_of"]
