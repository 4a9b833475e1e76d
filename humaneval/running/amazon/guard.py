"""What keeps a program from going past the proxy, whatever it is written in.

On Linux the program gets a view of the file system in which no name of another machine can be looked up. Then
only the proxy can reach one by its name. Where the system allows no such view, only the hooks of Python and
Node are left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from humaneval.running.amazon.names import without_amazon

_HOSTS = Path("/etc/hosts")
_NO_SERVERS = {
    "/etc/nsswitch.conf": "hosts: files\n",
    "/etc/resolv.conf": "nameserver 255.255.255.255\noptions attempts:1 timeout:1\n",  # fails at once
    "/var/run/nscd/socket": "",
}
"""What the program sees in place of these files. Then only the list of hosts has names."""

_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep the authorities that they trust. libcurl and others read no variable, only these."""

_SCRIPT = 'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 1; shift 2; done; shift; exec "$@"'


def guard_command(folder: Path, authorities: Path) -> list[str]:
    """What stands before the command of a guarded program; nothing if the system allows no view of its own.

    Its files lie in `folder`. The program trusts `authorities`.
    """
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return []
    shown = dict(_NO_SERVERS)
    if _HOSTS.exists():
        shown[str(_HOSTS)] = without_amazon(_HOSTS.read_text(encoding="utf-8", errors="replace"))
    binds = []
    for place in filter(os.path.exists, _AUTHORITIES):
        binds += [str(authorities), place]
    for number, (place, text) in enumerate(shown.items()):
        if Path(place).exists():
            file = folder / f"names-{number}"
            file.write_text(text, encoding="utf-8")
            binds += [str(file), place]
    root = os.geteuid() == 0
    # Without root: first as the root of a namespace, which may mount, and then as oneself again.
    outer = ["unshare", "--mount"] if root else ["unshare", "--user", "--map-root-user", "--mount"]
    oneself = (f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}")
    inner = [] if root else ["unshare", "--user", *oneself, "--"]
    guard = [*outer, "--", "sh", "-c", _SCRIPT, "sh", *binds, "--", *inner]
    tried = subprocess.run([*guard, "true"], capture_output=True)
    return guard if tried.returncode == 0 else []
