"""The variables that lead a program with Amazon's address in it through the proxy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from humaneval.market.serving import client_environment
from humaneval.running.amazon.certificates import Certificates
from humaneval.running.amazon.names import AMAZON

HOOKS = Path(__file__).with_name("hooks")

_PROXY = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_BUNDLE = (
    "AWS_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
)


def program_environment(
    given: Mapping[str, str], *, market: str, signed: bool, proxy: str, certificates: Certificates
) -> dict[str, str]:
    """The environment of the program: `given`, with what leads it to the marketplace.

    If the marketplace takes any key (not `signed`), and there is none, the program gets one.
    """
    changed = client_environment(market, signed=signed or "AWS_ACCESS_KEY_ID" in given, keys_file=None)
    changed |= {"AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "localhost,127.0.0.1"}
    changed |= dict.fromkeys(_PROXY, proxy)
    changed |= {name.lower(): changed[name] for name in (*_PROXY, "NO_PROXY")}
    changed |= dict.fromkeys(_BUNDLE, str(certificates.bundle))
    changed["NODE_EXTRA_CA_CERTS"] = str(certificates.bundle)
    changed["MARKET_RUN_AMAZON"] = " ".join(AMAZON)  # for the hooks
    changed["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOOKS), given.get("PYTHONPATH"))))
    required = str(HOOKS / "node.cjs").replace("\\", "\\\\").replace('"', '\\"')
    changed["NODE_OPTIONS"] = f'{given.get("NODE_OPTIONS", "")} --require "{required}"'.strip()
    return {**given, **changed}
