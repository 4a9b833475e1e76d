"""Which names on the network are Mechanical Turk's, and which are Amazon's at all."""

from __future__ import annotations

from ipaddress import ip_address

MTURK = frozenset(
    {"mturk-requester.us-east-1.amazonaws.com", "mturk-requester-sandbox.us-east-1.amazonaws.com"}
)
"""The requester API, in production and in the sandbox. There is no other region."""

MTURK_BEFORE_2017 = frozenset({"mechanicalturk.amazonaws.com", "mechanicalturk.sandbox.amazonaws.com"})
"""Programs find the marketplace there, too, although it does not speak their protocol."""

AMAZON = (
    "amazon.com",
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "aws",
    "aws.dev",
    "awsstatic.com",
    "cloudfront.net",
    "mturk.com",
)
"""Everything below these domains is Amazon's."""


def plain(host: str) -> str:
    """The host as it is compared: in lower case, without the dot of the root and without brackets."""
    return host.strip("[]").rstrip(".").lower()


def leads_to_market(host: str) -> bool:
    """Whether programs mean Mechanical Turk's requester API by this host."""
    return plain(host) in MTURK | MTURK_BEFORE_2017


def may_be_amazons(host: str) -> bool:
    """Whether this host is Amazon's, or could be: nobody sees from a public address whose it is."""
    name = plain(host)
    try:
        address = ip_address(name)
    except ValueError:
        return any(name == domain or name.endswith(f".{domain}") for domain in AMAZON)
    return address.is_global or address.is_link_local  # link-local: where machines of AWS find their keys


def without_amazon(hosts: str) -> str:
    """The text of a hosts file without the lines that give an address to a name of Amazon's.

    >>> without_amazon("127.0.0.1 localhost\\n10.0.0.7 s3.amazonaws.com\\n")
    '127.0.0.1 localhost\\n'
    """
    lines = hosts.splitlines(keepends=True)
    return "".join(line for line in lines if not any(map(may_be_amazons, line.partition("#")[0].split()[1:])))
