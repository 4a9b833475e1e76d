"""Certificates for Amazon's names, made for one run by the `openssl` program.

Nobody could misuse them later. The authority can vouch for names below amazonaws.com only. Its key is
deleted as soon as it has signed, and the proxy's key as soon as it is loaded: before the program starts.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import botocore

from humaneval.errors import PrerequisiteError
from humaneval.running.amazon.names import MTURK, MTURK_BEFORE_2017

DAYS = 397
"""As long as clients accept. The longest run ends sooner."""

_CONFIG = """\
[req]
distinguished_name = name
prompt = no
[name]
O = humaneval market run
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
nameConstraints = critical, permitted;DNS:amazonaws.com
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {hosts}
"""


@dataclass(frozen=True, slots=True)
class Certificates:
    """What both sides of the proxy need."""

    server: ssl.SSLContext
    """For the proxy: it answers for Mechanical Turk's names."""
    authority: Path
    """The certificate that signed it."""
    bundle: Path
    """The same, after the authorities that the program would have trusted anyway."""


def make_certificates(folder: Path, environment: Mapping[str, str]) -> Certificates:
    """New certificates for one run, in `folder`. No key stays there.

    Raises PrerequisiteError if there is no `openssl`.
    """
    authority, bundle = folder / "authority.pem", folder / "bundle.pem"
    with TemporaryDirectory(prefix="keys-", dir=folder) as made:
        keys = Path(made)
        _authority(keys, authority)
        _server(keys, authority)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(keys / "server.pem", keys / "server.key")
        server.set_alpn_protocols(["http/1.1"])
    bundle.write_bytes(_trusted_before(environment).read_bytes() + b"\n" + authority.read_bytes())
    return Certificates(server, authority, bundle)


def _authority(keys: Path, certificate: Path) -> None:
    config = _config(keys, "authority of one run")
    _openssl(
        *("req", "-x509", "-config", config, "-extensions", "authority", "-sha256", "-days", str(DAYS)),
        *("-newkey", "rsa:2048", "-nodes", "-keyout", keys / "authority.key", "-out", certificate),
    )


def _server(keys: Path, authority: Path) -> None:
    config, request = _config(keys, "marketplace"), keys / "server.csr"
    _openssl(
        *("req", "-new", "-config", config, "-sha256"),
        *("-newkey", "rsa:2048", "-nodes", "-keyout", keys / "server.key", "-out", request),
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", authority, "-CAkey", keys / "authority.key"),
        *("-set_serial", "2", "-extfile", config, "-extensions", "server", "-sha256", "-days", str(DAYS)),
        *("-out", keys / "server.pem"),
    )


def _config(keys: Path, name: str) -> Path:
    file = keys / "openssl.cnf"
    hosts = ", ".join(f"DNS:{host}" for host in sorted(MTURK | MTURK_BEFORE_2017))
    file.write_text(_CONFIG.format(name=name, hosts=hosts), encoding="utf-8")
    return file


def _openssl(*arguments: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise PrerequisiteError(
            "the openssl program is missing, and nothing else here can make certificates",
            "Install it, for example with `apt install openssl` or `brew install openssl`.",
        )
    done = subprocess.run([program, *arguments], capture_output=True, text=True, umask=0o077)
    if done.returncode:
        raise PrerequisiteError(f"openssl could not make a certificate: {done.stderr.strip()}")


def _trusted_before(environment: Mapping[str, str]) -> Path:
    """The file of authorities that programs trust in this environment."""
    named = (environment.get(name) for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"))
    carried = Path(botocore.__file__).with_name("cacert.pem")
    places = [*named, ssl.get_default_verify_paths().cafile]
    return next((Path(place) for place in places if place and Path(place).is_file()), carried)
