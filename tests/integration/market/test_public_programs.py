"""The calls of public programs, in their order, to Amazon's address through the proxy of `market run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from sqlalchemy import Engine

from humaneval.market import Keys, MarketServer, Mode
from humaneval.running.amazon.certificates import make_certificates
from humaneval.running.amazon.proxy import AmazonProxy
from tests.integration.market.public_programs import PROGRAMS, Work

KEY, SECRET = "FOREIGN", "not+a/secret+of+anyones"
SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"


@pytest.fixture
def server(engine: Engine) -> Iterator[MarketServer]:
    with MarketServer(engine, mode=Mode.LOCAL, keys=Keys({KEY: SECRET})) as server:
        yield server


@pytest.fixture
def amazon(server: MarketServer, tmp_path: Path) -> Iterator[Any]:
    """A boto3 client with Amazon's address, led to the marketplace."""
    certificates = make_certificates(tmp_path, {})
    with AmazonProxy(server.url, certificates.server, pytest.fail) as proxy:
        client = boto3.client(
            "mturk",
            endpoint_url=SANDBOX,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            verify=str(certificates.authority),
            config=Config(proxies={"https": proxy.url}, retries={"total_max_attempts": 1}),
        )
        with closing(client):
            yield client


@pytest.fixture
def work(person: Callable[..., Any]) -> Work:
    """People from the United States do HITs."""

    def do(*hits: str, people: int, **fields: str) -> None:
        for number in range(people):
            worker = person(f"Person {number}", "US")
            for hit in hits:
                worker.do(hit, **fields)

    return do


@pytest.mark.parametrize("calls", PROGRAMS, ids=lambda calls: calls.__name__)
def test_X46_the_calls_of_a_public_program_succeed_in_their_order(
    calls: Callable[[Any, Work], None], amazon: Any, work: Work
) -> None:
    calls(amazon, work)
