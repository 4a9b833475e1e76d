"""Starting and stopping: addresses, modes, and error messages."""

from __future__ import annotations

import re
import stat
import time
import urllib.request
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine

from humaneval.cli.main import cli
from humaneval.errors import HumanEvalError, PrerequisiteError, SettingsError, StoreError, UsageError
from humaneval.market import Keys, MarketServer, Mode, create_market_app, open_market
from humaneval.market.prolific_standin import open_prolific
from humaneval.market.prolific_standin.app import create_prolific_app
from humaneval.web.infilling.app import create_app as infilling_page
from tests.commands import Command
from tests.forking.program import Program
from tests.pace import PATIENCE


def refused(*arguments: str) -> HumanEvalError:
    """The error that `humaneval market serve` ends with."""
    result = CliRunner().invoke(cli, ["market", "serve", "--port", "0", *arguments])
    assert isinstance(result.exception, HumanEvalError), result.output
    return result.exception


def test_the_port_is_known_and_answers_from_the_start_and_is_free_after_the_end(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    with MarketServer(engine, mode=Mode.LOCAL) as server:
        with urllib.request.urlopen(f"{server.url}/signin", timeout=PATIENCE) as page:
            assert page.status == 200
        with urllib.request.urlopen(f"{server.url}/health", timeout=PATIENCE) as page:
            assert (page.status, page.read()) == (200, b"ok\n")
        with pytest.raises(PrerequisiteError, match=str(server.port)):
            MarketServer(engine, mode=Mode.LOCAL, port=server.port)
        port = server.port
    MarketServer(engine, mode=Mode.LOCAL, port=port).close()
    engine.dispose()


def test_a_restart_keeps_workers_signed_in_and_their_work(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    first = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1").test_client()
    cookie = first.post("/signin", data={"name": "Ada"}).headers["Set-Cookie"].split(";")[0]
    engine.dispose()
    engine = open_market(tmp_path / "market.db")
    second = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1").test_client(
        use_cookies=False
    )
    assert b"Ada" in second.get("/hits", headers={"Cookie": cookie}).data
    engine.dispose()


def in_file_while_it_runs(file: Path, lines: int, *arguments: str) -> list[str]:
    """The first lines that `humaneval … > file` writes while it goes on serving."""
    with (
        file.open("w") as stdout,
        Program(*arguments, stdout=stdout, environment={"PYTHONUNBUFFERED": ""}) as process,
    ):
        until = time.monotonic() + PATIENCE
        while file.read_text().count("\n") < lines and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        still_there = process.poll() is None
        process.terminate()
    assert still_there
    return [line.strip() for line in file.read_text().splitlines()[:lines]]


def test_the_command_prints_what_a_program_of_ones_own_needs_at_once_also_into_a_file(tmp_path: Path) -> None:
    lines = in_file_while_it_runs(
        tmp_path / "log",
        7,
        "market",
        "serve",
        "--port",
        "0",
        "--mode",
        "sandbox",
        "--database",
        str(tmp_path / "market.db"),
    )
    url = lines[0].removeprefix("Worker site: ").rstrip("/")
    assert url.startswith("http://127.0.0.1:")
    assert lines[1].startswith("Pages of HTMLQuestions: http://127.0.0.1:")
    assert lines[3:5] == [f"export AWS_ENDPOINT_URL_MTURK={url}", "export AWS_DEFAULT_REGION=us-east-1"]
    assert [line.partition("=")[0] for line in lines[5:]] == [
        "export AWS_ACCESS_KEY_ID",
        "export AWS_SECRET_ACCESS_KEY",
    ]


def test_the_form_servers_address_is_in_its_file_at_once(sqlite_database: str, tmp_path: Path) -> None:
    (line,) = in_file_while_it_runs(tmp_path / "log", 1, "serve", "--port", "0")
    assert re.fullmatch(r"Forms: http://127\.0\.0\.1:[1-9]\d+", line)


def test_C19_a_marketplace_made_in_one_mode_does_not_open_in_the_other(tmp_path: Path) -> None:
    database = tmp_path / "market.db"
    engine = open_market(database)
    create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    engine.dispose()
    assert isinstance(refused("--database", str(database), "--mode", "sandbox"), SettingsError)
    assert isinstance(refused("--database", str(database), "--balance", "5"), SettingsError)


def test_what_cannot_be_served_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is no database, whatever its name says.\n" * 100)
    database = ("--database", str(tmp_path / "market.db"))
    assert isinstance(refused("--database", str(tmp_path / "text.db")), StoreError)
    assert isinstance(refused("--database", str(tmp_path / "nowhere" / "market.db")), StoreError)
    assert isinstance(refused(*database, "--host", "0.0.0.0"), UsageError)
    assert isinstance(refused(*database, "--public-url", "https://lab.example/panel?x"), SettingsError)
    assert isinstance(refused(*database, "--balance", "1.005"), UsageError)
    assert isinstance(refused(*database, "--host", "host.invalid"), PrerequisiteError)


@pytest.mark.parametrize(
    "wrong",
    [
        ("--public-url", "https://panel.lab.example"),  # without keys
        ("--public-url", "panel.lab.example"),
        ("--host", "192.0.2.1"),
        ("--balance", "-1"),
    ],
)
def test_a_start_that_failed_leaves_no_account_whose_balance_could_not_be_chosen_any_more(
    tmp_path: Path, wrong: tuple[str, str]
) -> None:
    database = tmp_path / "market.db"
    refused("--database", str(database), "--mode", "sandbox", *wrong)
    funded = CliRunner().invoke(cli, ["market", "fund", "5", "--database", str(database)])
    assert isinstance(funded.exception, StoreError)
    with closing(MarketServer(open_market(database), mode=Mode.LOCAL, balance=Decimal("5.00"))):
        funded = CliRunner().invoke(cli, ["market", "fund", "5", "--database", str(database)])
    assert "$10.00 are available now" in funded.output


def test_the_file_and_its_copies_are_their_owners_alone(tmp_path: Path) -> None:
    """The key that signs workers' links is in it."""
    database = tmp_path / "market.db"
    engine = open_market(database)
    create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    copy = tmp_path / "copy.db"
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("market.db*")} == {0o600}
    database.chmod(0o640)
    CliRunner().invoke(cli, ["market", "backup", "--out", str(copy), "--database", str(database)])
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    engine.dispose()


def test_a_database_of_studies_and_one_of_a_marketplace_are_not_taken_for_one_another(
    command: Command, sqlite_engine: Engine, sqlite_database: str, tmp_path: Path
) -> None:
    studies = sqlite_database.removeprefix("sqlite:///")
    assert "is a database of studies" in command("market", "fund", "5", "--database", studies).err
    open_market(tmp_path / "market.db").dispose()
    said = command("--database", str(tmp_path / "market.db"), "stories", "list")
    assert (said.code, "is a database of a marketplace" in said.err) == (1, True)


def test_an_address_of_another_machine_is_told_from_a_port_in_use(tmp_path: Path) -> None:
    error = refused(
        "--database", str(tmp_path / "market.db"), "--host", "192.0.2.1", "--public-url", "http://localhost"
    )
    assert error.hint == "Choose another host."


def test_a_copy_made_while_it_is_in_use_is_a_whole_marketplace(tmp_path: Path) -> None:
    database, copy = tmp_path / "market.db", tmp_path / "copy.db"
    engine = open_market(database)
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    cookie = app.test_client().post("/signin", data={"name": "Ada"}).headers["Set-Cookie"].split(";")[0]
    made = CliRunner().invoke(
        cli, ["market", "backup", "--out", str(copy), "--database", str(database), "--json"]
    )
    assert made.exit_code == 0, made.output
    engine.dispose()
    for file in tmp_path.glob("market.db*"):
        file.unlink()
    copy.rename(database)
    engine = open_market(database)
    restored = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    assert b"Ada" in restored.test_client(use_cookies=False).get("/hits", headers={"Cookie": cookie}).data
    engine.dispose()
    homeless = tmp_path / "nowhere" / "copy.db"
    refusal = CliRunner().invoke(
        cli, ["market", "backup", "--out", str(homeless), "--database", str(database)]
    )
    assert isinstance(refusal.exception, UsageError)
    assert "for the copy does not exist" in str(refusal.exception)
    absent = CliRunner().invoke(cli, ["market", "backup", "--database", str(tmp_path / "nowhere.db")])
    assert isinstance(absent.exception, StoreError)
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize("signed", [False, True])
def test_a_requester_reads_how_to_point_a_script_here(tmp_path: Path, signed: bool) -> None:
    engine = open_market(tmp_path / "market.db")
    keys = Keys({"PANEL": "a secret of sixteen"}) if signed else None
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="https://panel.lab.example", keys=keys)
    page = app.test_client().get("/help").text
    assert "export AWS_ENDPOINT_URL_MTURK=https://panel.lab.example" in page
    assert ("AWS_SHARED_CREDENTIALS_FILE" in page) is signed
    assert ("AWS_SECRET_ACCESS_KEY=local" in page) is not signed
    assert "a secret" not in page
    assert 'href="/help"' in app.test_client().get("/signin").text
    engine.dispose()


@pytest.mark.parametrize("which", ["marketplace", "stand-in for Prolific", "infilling page"])
def test_an_unexpected_error_is_logged_without_the_path_and_what_the_error_says(
    tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    books = (
        open_market(tmp_path / "market.db") if which == "marketplace" else open_prolific(tmp_path / "p.db")
    )
    app = {
        "marketplace": lambda: create_market_app(books, mode=Mode.LOCAL, public_url="http://localhost:1"),
        "stand-in for Prolific": lambda: create_prolific_app(books),
        "infilling page": lambda: infilling_page(cast(Any, None)),
    }[which]()

    def fail(key: str) -> str:
        raise ValueError(f"the error says {key}")

    app.add_url_rule("/fails/<key>", view_func=fail)
    assert app.test_client().get("/fails/SECRET?id=SECRET").status_code == 500
    assert "GET /fails/<key> failed: ValueError" in caplog.text
    assert "SECRET" not in caplog.text
    books.dispose()
