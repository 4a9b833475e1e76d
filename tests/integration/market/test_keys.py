"""Access keys: what is signed is answered, what is not is refused, and nobody else's machine is let in
without."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from click.testing import CliRunner
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.cli.main import cli
from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.errors import HumanEvalError, PlatformError, SettingsError
from humaneval.market import Keys, MarketServer, Mode, create_market_app, open_market
from humaneval.market.keys import read_file, read_pairs, write_new_pair
from tests.forking.program import Program

ID, SECRET = "PANEL1", "a-secret-of-enough/letters+0"
TARGET = "MTurkRequesterServiceV20170117.GetAccountBalance"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    engine = open_market(Path(tmp_path_factory.mktemp("market")) / "market.db")
    keys = Keys({ID: SECRET, "PANEL2": SECRET[::-1]})
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1", keys=keys)
    with app.test_client() as client:
        yield client
    engine.dispose()


def signed(
    key: str = ID,
    secret: str = SECRET,
    region: str = "us-east-1",
    service: str = "mturk-requester",
    **extra: str,
) -> dict[str, str]:
    """The headers of a call with an empty body, signed by botocore itself."""
    request = AWSRequest("POST", "http://localhost/", data=b"{}", headers={"X-Amz-Target": TARGET, **extra})
    SigV4Auth(Credentials(key, secret), service, region).add_auth(request)
    return dict(request.headers.items())


def call(
    client: FlaskClient, headers: dict[str, str], path: str = "/", data: bytes = b"{}"
) -> tuple[int, str]:
    reply = client.post(path, data=data, headers=headers)
    return reply.status_code, json.loads(reply.data).get("__type", "")


def test_what_botocore_signs_is_answered(client: FlaskClient) -> None:
    assert call(client, signed()) == (200, "")
    assert call(client, signed("PANEL2", SECRET[::-1])) == (200, "")
    assert call(
        client, signed(**{"X-Amz-Extra": "  two   words ", "Content-Type": "application/x-amz-json-1.1"})
    ) == (
        200,
        "",
    )


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        (lambda: {"X-Amz-Target": TARGET}, "MissingAuthenticationTokenException"),
        (lambda: signed() | {"Authorization": "Bearer abc"}, "IncompleteSignatureException"),
        (
            lambda: signed() | {"Authorization": "AWS4-HMAC-SHA256 Credential=x"},
            "IncompleteSignatureException",
        ),
        (lambda: signed("NOBODY"), "UnrecognizedClientException"),
        (lambda: signed(secret=SECRET + "1"), "InvalidSignatureException"),
        (lambda: signed("PANEL2"), "InvalidSignatureException"),
        (lambda: signed(region="eu-west-1"), "InvalidSignatureException"),
        (lambda: signed(service="s3"), "InvalidSignatureException"),
        (
            lambda: signed() | {"X-Amz-Target": TARGET.replace("Balance", "Balanc")},
            "InvalidSignatureException",
        ),
        (lambda: signed() | {"X-Amz-Unsigned": "1"}, "InvalidSignatureException"),
        (lambda: signed() | {"X-Amz-Date": "yesterday"}, "InvalidSignatureException"),
        (lambda: signed() | {"Host": "elsewhere.example"}, "InvalidSignatureException"),
    ],
)
def test_what_is_not_signed_so_is_refused(
    client: FlaskClient, headers: Callable[[], dict[str, str]], kind: str
) -> None:
    status, refused = call(client, headers())
    assert (status, refused) == (403 if kind.startswith("Missing") else 400, kind)


def test_a_signature_is_for_one_body_and_one_query(client: FlaskClient) -> None:
    assert call(client, signed(), data=b"{ }") == (400, "InvalidSignatureException")
    assert call(client, signed(), path="/?x=1") == (400, "InvalidSignatureException")


@pytest.mark.parametrize(("minutes", "answered"), [(-16, False), (-14, True), (14, True), (16, False)])
def test_a_clock_may_be_a_quarter_of_an_hour_off(tmp_path: Path, minutes: int, answered: bool) -> None:
    engine = open_market(tmp_path / "market.db")
    here = datetime.now(UTC) + timedelta(minutes=minutes)
    app = create_market_app(
        engine, mode=Mode.LOCAL, public_url="http://localhost:1", keys=Keys({ID: SECRET}), clock=lambda: here
    )
    reply = app.test_client().post("/", data=b"{}", headers=signed())
    assert (reply.status_code == 200) is answered
    # By this a client whose own clock is wrong can put it right.
    assert reply.date == here.replace(microsecond=0)
    engine.dispose()


@given(st.binary(max_size=40), st.text("ab /&=+%é", max_size=12), st.sampled_from([ID, "PANEL2"]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_our_signature_is_botocores(client: FlaskClient, body: bytes, word: str, key: str) -> None:
    secret = SECRET if key == ID else SECRET[::-1]
    extra = {"X-Amz-Target": TARGET, "X-Amz-Word": word.encode("ascii", "ignore").decode() or "-"}
    request = AWSRequest("POST", "http://localhost/?b=2&a=1", data=body, headers=extra)
    SigV4Auth(Credentials(key, secret), "mturk-requester", "us-east-1").add_auth(request)
    _, kind = call(client, dict(request.headers.items()), "/?b=2&a=1", body)
    assert "Signature" not in kind


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_boto3_with_the_key_gets_in_and_without_it_does_not(
    tmp_path: Path, mode: str, client_of: Callable[..., Any]
) -> None:
    engine = open_market(tmp_path / "market.db")
    with MarketServer(engine, mode=Mode.LOCAL, keys=Keys({ID: SECRET})) as server:

        def balance(secret: str) -> str:
            mturk = client_of(server.url, ID, secret, retries={"mode": mode})
            return str(mturk.get_account_balance()["AvailableBalance"])

        assert balance(SECRET) == "10000.00"
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            balance(SECRET + "x")
    engine.dispose()


def test_the_toolkits_own_client_signs_with_the_first_of_the_same_keys(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    pairs = f"{ID}:{SECRET} PANEL2:{SECRET[::-1]}"
    with MarketServer(engine, mode=Mode.LOCAL, keys=read_pairs(pairs)) as server:
        assert MTurk(local(server.url), keys=pairs).balance() == 10000
        with pytest.raises(PlatformError, match="access key"):
            MTurk(local(server.url)).balance()
    engine.dispose()


def test_the_workers_site_asks_for_no_key(client: FlaskClient) -> None:
    assert client.get("/signin").status_code == 200


def test_a_made_key_is_its_owners_alone_and_works_at_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(cli, ["market", "key", "--out", "keys"])
    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    secret = file.read_text().split()[-1]
    assert secret not in made.output
    assert f"AWS_SHARED_CREDENTIALS_FILE={file}" in made.output
    command = ["market", "serve", "--port", "0", "--json"]
    command += ["--database", str(tmp_path / "market.db"), "--keys", str(file)]
    with Program(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        printed = process.stdout.readline()
        environment = json.loads(printed)["environment"]
        assert secret not in printed
        assert environment["AWS_SHARED_CREDENTIALS_FILE"] == str(file)
        program = "import boto3; print(boto3.client('mturk').get_account_balance()['AvailableBalance'])"
        ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        process.terminate()
        rest = process.stdout.read()
    assert ran.stdout.strip() == "10000.00", ran.stderr
    assert secret not in rest
    with pytest.raises(HumanEvalError, match="cannot be made"):
        write_new_pair(file)


def test_no_secret_is_logged_or_named_in_an_error(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with caplog.at_level(logging.DEBUG):
        call(client, signed())
        call(client, signed(secret=SECRET + "1"))
    assert SECRET not in caplog.text
    assert SECRET not in repr(Keys({ID: SECRET}))
    bad = tmp_path / "bad"
    for text in (f"[p]\n{SECRET}", f"[p]\naws_secret_access_key = {SECRET}", f"[p\n{SECRET}", SECRET):
        bad.write_text(text)
        with pytest.raises(SettingsError) as caught:
            read_file(bad)
        assert SECRET not in caught.value.message + caught.value.hint
    for pairs in (SECRET, f"a b:{SECRET}", "ID:short", f"a/b:{SECRET}", " "):
        with pytest.raises(SettingsError) as caught:
            read_pairs(pairs)
        assert SECRET not in caught.value.message


@pytest.mark.parametrize(
    ("host", "public_url"), [("0.0.0.0", "http://localhost:8731"), ("127.0.0.1", "https://panel.lab.example")]
)
def test_without_keys_no_other_machine_is_let_in(tmp_path: Path, host: str, public_url: str) -> None:
    engine = open_market(tmp_path / "market.db")
    with pytest.raises(SettingsError, match="without access keys"):
        MarketServer(engine, mode=Mode.LOCAL, host=host, public_url=public_url)
    MarketServer(engine, mode=Mode.LOCAL, host=host, public_url=public_url, keys=Keys({ID: SECRET})).close()
    engine.dispose()
