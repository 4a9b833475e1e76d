"""Which names lead to the marketplace, and which must lead nowhere."""

from __future__ import annotations

import pytest

from humaneval.running.amazon.names import leads_to_market, may_be_amazons, without_amazon


@pytest.mark.parametrize(
    "host",
    [
        "mturk-requester.us-east-1.amazonaws.com",
        "mturk-requester-sandbox.us-east-1.amazonaws.com",
        "MTurk-Requester.US-East-1.AmazonAWS.com.",
        "mechanicalturk.amazonaws.com",
        "mechanicalturk.sandbox.amazonaws.com",
    ],
)
def test_mechanical_turks_names_lead_to_the_marketplace(host: str) -> None:
    assert leads_to_market(host)


@pytest.mark.parametrize(
    "host",
    [
        "s3.amazonaws.com",
        "a-bucket.s3.eu-west-1.amazonaws.com",
        "mturk-requester.us-west-2.amazonaws.com",
        "mturk-requester.us-east-1.api.aws",
        "sns.us-east-1.amazonaws.com.",
        "www.MTurk.com",
        "workersandbox.mturk.com",
        "amazon.com",
        "assets.crowd.aws",
        "d111111abcdef8.cloudfront.net",
        "52.94.236.248",
        "[2600:1f18::1]",
        "169.254.169.254",
    ],
)
def test_everything_else_of_amazons_and_every_public_address_leads_nowhere(host: str) -> None:
    assert may_be_amazons(host)
    assert not leads_to_market(host)


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "notamazon.com",
        "amazonaws.com.example.org",
        "localhost",
        "127.0.0.1",
        "10.1.2.3",
        "::1",
    ],
)
def test_other_hosts_are_let_through(host: str) -> None:
    assert not may_be_amazons(host)
    assert not leads_to_market(host)


def test_a_list_of_hosts_keeps_everything_but_amazons() -> None:
    kept = "127.0.0.1 localhost lab # not s3.amazonaws.com\n\n# a remark\n10.0.0.3\tdb.lab.example\n"
    assert without_amazon(kept + "10.0.0.7 a s3.amazonaws.com\n10.0.0.8 mturk.com") == kept
