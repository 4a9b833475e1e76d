"""Programs with Amazon's address in their code run unedited against the marketplace, and reach nothing of
Amazon's."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.market import Keys, MarketServer, Mode, open_market
from humaneval.market.operations import Market
from humaneval.running.amazon.certificates import make_certificates
from humaneval.running.amazon.guard import guard_command
from humaneval.running.amazon.program import NOT_GUARDED
from humaneval.running.amazon.proxy import AmazonProxy
from tests.commands import program
from tests.conftest import ROOT, lacking
from tests.forking.program import Program
from tests.pace import PATIENCE

KEYS = {"AWS_ACCESS_KEY_ID": "FOREIGN", "AWS_SECRET_ACCESS_KEY": "not+a/secret+of+anyones"}
PYTHON = Path(__file__).with_name("amazons_address.py")
NODE = Path(__file__).with_name("amazons_address.cjs")
PRODUCTION = "mturk-requester.us-east-1.amazonaws.com"
STOPPED = "nothing may reach Amazon"

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def server(engine: Engine) -> Iterator[MarketServer]:
    """A marketplace that checks every signature."""
    keys = Keys({KEYS["AWS_ACCESS_KEY_ID"]: KEYS["AWS_SECRET_ACCESS_KEY"]})
    with MarketServer(engine, mode=Mode.LOCAL, keys=keys) as server:
        yield server


@pytest.fixture
def run(server: MarketServer) -> Run:
    """Runs a program under the command, with a key that the marketplace knows."""

    def run_it(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
        words = [str(word) for word in command]
        return program("market", "run", "--market", server.url, "--", *words, **{**KEYS, **environment})

    return run_it


def said(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def curl() -> str:
    return shutil.which("curl") or lacking("curl", "apt-get install curl")


def each(run: Run, *program: str | Path, ways: Iterable[str]) -> subprocess.CompletedProcess[bytes]:
    """The program under the command once for each way: what starts and ends is the same for all of them."""
    line = shlex.join(str(word) for word in program)
    return run("sh", "-ec", f'for way; do {line} "$way"; done', "sh", *ways)


def node(run: Run, *ways: str) -> subprocess.CompletedProcess[bytes]:
    if not (ROOT / "node_modules" / "@aws-sdk" / "client-mturk").is_dir():
        lacking("@aws-sdk/client-mturk", "apt-get install npm && npm ci")
    return each(run, "node", NODE, ways=ways)


def all_said(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_X46_a_python_program_with_amazons_address_runs_unedited(run: Run) -> None:
    done = each(run, sys.executable, PYTHON, ways=["with_boto3", "signed_by_hand"])
    assert [each["reply"] for each in all_said(done)] == [["10000.00"] * 3, "10000.00"]
    assert b"stopped" not in done.stderr


def test_X46_a_wrong_signature_is_refused_under_amazons_name_as_well(run: Run) -> None:
    done = run(sys.executable, PYTHON, "with_boto3", AWS_SECRET_ACCESS_KEY="another+secret+of+anyones")
    assert "InvalidSignature" in said(done)["error"]


def test_X46_a_node_program_with_amazons_address_runs_unedited(run: Run) -> None:
    """403 is the marketplace's own: two of the ways do not sign."""
    replies = all_said(node(run, "sdk", "fetch", "https"))
    assert [each["reply"] for each in replies] == [["10000.00", "10000.00"], 403, 403]


def test_X46_curl_signs_for_amazons_address_and_reaches_the_marketplace(run: Run) -> None:
    done = run(
        *(curl(), "--silent", "--show-error", "--aws-sigv4", "aws:amz:us-east-1:mturk-requester"),
        *("--user", ":".join(KEYS.values()), "--header", "Content-Type: application/x-amz-json-1.1"),
        *("--header", "X-Amz-Target: MTurkRequesterServiceV20170117.GetAccountBalance", "--data", "{}"),
        f"https://{PRODUCTION}/",
    )
    assert said(done)["AvailableBalance"] == "10000.00"


def test_X46_r_reaches_the_marketplace_under_amazons_address(run: Run, tmp_path: Path) -> None:
    """Its curl package trusts what the system does, whatever the variables say."""
    script = tmp_path / "balance.R"
    script.write_text(
        'call <- curl::new_handle(copypostfields = "{}")\n'
        f'cat(rawToChar(curl::curl_fetch_memory("https://{PRODUCTION}/", call)$content))\n'
    )
    there = ("Rscript", "-e", 'quit(status = !requireNamespace("curl", quietly = TRUE))')
    if shutil.which("Rscript") is None or subprocess.run(there, check=False).returncode:
        lacking("R", "apt-get install r-base-core r-cran-curl")
    assert "MissingAuthenticationToken" in said(run("Rscript", script))["__type"]


def test_X46_a_python_program_reaches_nothing_of_amazons(run: Run) -> None:
    done = each(run, sys.executable, PYTHON, ways=["another_service", "without_a_proxy", "straight"])
    assert [list(each) for each in all_said(done)] == [["error"]] * 3
    assert done.stderr.decode().count(STOPPED) >= 3


def test_X46_a_node_program_reaches_nothing_of_amazons(run: Run) -> None:
    done = node(run, "another", "straight", "plain")
    assert [STOPPED in each["error"] for each in all_said(done)] == [True] * 3
    assert done.stderr.decode().count(STOPPED) >= 3


def test_X46_a_program_without_our_variables_can_look_no_name_up(run: Run, tmp_path: Path) -> None:
    """Nothing but the guard is left then. Where the system allows none, the command says so."""
    look = (
        "import socket, sys; print(open('/etc/nsswitch.conf').read()); socket.getaddrinfo(sys.argv[1], 443)"
    )
    done = run("env", "-i", sys.executable, "-c", look, PRODUCTION)
    assert done.returncode == 1
    authorities = tmp_path / "authorities.pem"
    authorities.touch()
    if guard_command(tmp_path, authorities):
        assert done.stdout.split() == [b"hosts:", b"files"]
        assert NOT_GUARDED not in done.stderr.decode()
    else:
        assert NOT_GUARDED in done.stderr.decode()


class Trap:
    """A port of this machine that takes every connection and reads what comes."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.port: int = listening.getsockname()[1]
        self._caught: list[bytes] = []

    def catch(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection:
                    self._caught.append(connection.recv(100))

    def caught(self) -> int:
        """How many connections came. They are taken in their order, so that the last that came is waited for:
        one of our own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as own:
            own.sendall(b"own")
            assert own.recv(1) == b""
        return sum(text != b"own" for text in self._caught)


@pytest.fixture
def trap() -> Iterator[Trap]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Trap(listening)
        threading.Thread(target=made.catch, daemon=True).start()
        yield made
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
def test_X46_a_trap_at_amazons_names_catches_nothing(
    server: MarketServer, trap: Trap, tmp_path: Path
) -> None:
    """The list of hosts leads Amazon's names to a trap, and seven programs go there straight."""
    port = trap.port
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n127.0.0.1 {PRODUCTION} s3.amazonaws.com\n")
    straight = f"import socket; socket.create_connection(('{PRODUCTION}', {port}), 5).sendall(b'x')"
    node = f"require('net').connect({port}, 's3.amazonaws.com', function () {{ this.end('x') }})"
    ways = [
        f'{sys.executable} -c "{straight}"',
        f'{sys.executable} -I -c "{straight}"',
        f'env -i {sys.executable} -c "{straight}"',
        f'node -e "{node}"',
        f'NODE_OPTIONS= node -e "{node}"',
        f"{curl()} --silent --noproxy '*' --max-time 5 http://{PRODUCTION}:{port}/",
        f"env -i {curl()} --silent --max-time 5 http://{PRODUCTION}:{port}/",
    ]
    script = tmp_path / "ways.sh"
    script.write_text("\n".join([*ways, "true"]))
    view = ["unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-c"]
    view += ['mount --bind "$0" /etc/hosts && exec "$@"', str(hosts)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if shutil.which("unshare") is None or subprocess.run([*view, "true"], capture_output=True).returncode:
        lacking("root", "run the tests where namespaces are allowed")
    subprocess.run([*view, "sh", str(script)], capture_output=True, env=environment, timeout=PATIENCE)
    assert trap.caught() == len(ways), "the trap does not work"

    command = [sys.executable, "-m", "humaneval", "market", "run", "--market", server.url]
    done = subprocess.run(
        [*view, *command, "--", "sh", str(script)], capture_output=True, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert trap.caught() == len(ways)


def test_X46_no_key_is_on_the_disk_while_the_program_runs_and_nothing_afterwards(
    run: Run, tmp_path: Path
) -> None:
    look = (
        "import os, pathlib, stat; made = pathlib.Path(os.environ['SSL_CERT_FILE']).parent;"
        "print(made, oct(stat.S_IMODE(made.stat().st_mode)),"
        " any('PRIVATE KEY' in file.read_text() for file in made.rglob('*') if file.is_file()))"
    )
    done = run(sys.executable, "-c", look, TMPDIR=str(tmp_path))
    folder, mode, key = done.stdout.decode().split()
    assert Path(folder).parent == tmp_path
    assert (mode, key) == ("0o700", "False")
    assert not Path(folder).exists()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_X46_a_signal_ends_the_program_and_leaves_nothing(
    server: MarketServer, tmp_path: Path, sent: signal.Signals
) -> None:
    wait = f"import time; print('here', flush=True); time.sleep({PATIENCE})"
    command = ["market", "run", "--market", server.url, "--", sys.executable, "-c", wait]
    with Program(*command, stdout=subprocess.PIPE, environment={"TMPDIR": str(tmp_path)}) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "here\n"
        assert list(tmp_path.glob("market-run-*"))
        started.send_signal(sent)
        assert started.wait() == (130 if sent is signal.SIGINT else 128 + sent)
    assert not list(tmp_path.glob("market-run-*"))


def test_X46_stdout_and_the_exit_status_are_the_programs(run: Run) -> None:
    done = run("sh", "-c", "cat; echo out; exit 7")
    assert (done.returncode, done.stdout) == (7, b"out\n")


def test_X46_without_a_marketplace_the_run_has_one_of_its_own(tmp_path: Path) -> None:
    make = (
        "import boto3, sys; boto3.client('mturk', region_name='us-east-1', endpoint_url=sys.argv[1])"
        ".create_qualification_type(Name='Reader', Description='d', QualificationTypeStatus='Active')"
    )
    done = program("market", "run", sys.executable, "-c", make, f"https://{PRODUCTION}", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert b"stands in for Mechanical Turk" in done.stderr
    engine = open_market(tmp_path / "market.db")
    market = Market(engine, Mode.LOCAL)
    reply = market.perform(
        "ListQualificationTypes", {"MustBeRequestable": False, "MustBeOwnedByCaller": True}, "r"
    )
    assert [each["Name"] for each in reply["QualificationTypes"]] == ["Reader"]
    engine.dispose()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("no-such-program-here",), "there is no program 'no-such-program-here'"),
        (("--market", "https://panel.lab.example", "true"), "cannot be led to 'https://panel.lab.example'"),
        (("--market", "http://127.0.0.1:1", "true"), "no marketplace answers at http://127.0.0.1:1"),
    ],
)
def test_X46_what_cannot_be_run_is_said_in_one_line(options: tuple[str, ...], says: str) -> None:
    done = program("market", "run", *options)
    assert done.returncode in (1, 2)
    assert says in done.stderr.decode()


@pytest.fixture
def proxy(server: MarketServer, tmp_path: Path) -> Iterator[tuple[AmazonProxy, list[str], Path]]:
    """A proxy in this process, what it tells people, and the authority that its clients must trust."""
    told: list[str] = []
    certificates = make_certificates(tmp_path, {})
    with AmazonProxy(server.url, certificates.server, told.append) as proxy:
        yield proxy, told, certificates.authority


def tunnel(
    proxy: AmazonProxy, host: str, port: int, context: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """A connection that asks for a tunnel; with a context, encrypted inside it."""
    where = proxy.url.removeprefix("http://")
    connection = (
        http.client.HTTPConnection(where, timeout=PATIENCE)
        if context is None
        else http.client.HTTPSConnection(where, timeout=PATIENCE, context=context)
    )
    connection.set_tunnel(host, port)
    return connection


@pytest.mark.parametrize(
    "host", ["S3.amazonaws.com", "www.mturk.com", "mturk-requester.eu-west-1.amazonaws.com", "52.94.236.248"]
)
def test_X46_the_proxy_refuses_every_other_host_of_amazons_and_says_why(
    proxy: tuple[AmazonProxy, list[str], Path], host: str
) -> None:
    there, told, _ = proxy
    why = "Mechanical Turk is in us-east-1 only" if "eu-west" in host else STOPPED
    for _ in range(2):
        with pytest.raises(OSError, match=f"403 market run stopped a connection to {host.lower()}: {why}"):
            tunnel(there, host, 443).request("GET", "/")
    assert told == [f"stopped a connection to {host.lower()}: {why}"]


def test_X46_the_proxy_vouches_for_mechanical_turks_names_only(
    proxy: tuple[AmazonProxy, list[str], Path],
) -> None:
    there, told, authority = proxy
    context = ssl.create_default_context(cafile=authority)
    for host in (PRODUCTION, "mechanicalturk.sandbox.amazonaws.com"):
        connection = tunnel(there, host, 443, context)
        connection.request("POST", "/", b"{}")
        assert connection.getresponse().status == 403  # the marketplace's: not signed
        connection.close()
    assert told == [
        "mechanicalturk.sandbox.amazonaws.com is an address from before 2017. Calls of that time are not"
        " understood."
    ]
    with pytest.raises(ssl.SSLError):
        tunnel(there, PRODUCTION, 443, ssl.create_default_context()).request("GET", "/")
    until = time.monotonic() + PATIENCE
    while len(told) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    assert "does not trust the certificate" in told[1]


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} at {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_X46_the_proxy_lets_other_hosts_through_and_plain_http_too(
    proxy: tuple[AmazonProxy, list[str], Path],
) -> None:
    there, told, _ = proxy
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        port = elsewhere.server_port
        connection = tunnel(there, "localhost", port)
        connection.request("GET", "/a")
        assert connection.getresponse().read() == f"/a at localhost:{port}".encode()
        connection.close()
        plain = http.client.HTTPConnection(there.url.removeprefix("http://"), timeout=PATIENCE)
        plain.request("GET", f"http://localhost:{port}/b?c=d")
        assert plain.getresponse().read() == f"/b?c=d at localhost:{port}".encode()
        plain.close()
        elsewhere.shutdown()
    plain = http.client.HTTPConnection(there.url.removeprefix("http://"), timeout=PATIENCE)
    plain.request("POST", f"http://{PRODUCTION}/", b"{}")
    assert plain.getresponse().status == 403  # the marketplace's: not signed
    plain.close()
    assert told == []
