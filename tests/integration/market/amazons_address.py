"""A program as they are written for Mechanical Turk: Amazon's address stands in its code. It knows nothing of
this toolkit, and prints one JSON document. Its one argument says how it calls."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import http.client
import json
import os
import ssl
import sys
import urllib.request
from collections.abc import Callable

import boto3
from botocore.config import Config

SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com"


def with_boto3() -> object:
    """Both addresses, and none: then boto3 has the address in its own data."""
    os.environ.pop("AWS_ENDPOINT_URL_MTURK", None)
    clients = [
        boto3.client("mturk", endpoint_url=url, region_name="us-east-1")
        for url in (SANDBOX, PRODUCTION, None)
    ]
    assert [client.meta.endpoint_url for client in clients] == [SANDBOX, PRODUCTION, PRODUCTION]
    return [client.get_account_balance()["AvailableBalance"] for client in clients]


def signed_by_hand() -> object:
    """Without a client of Amazon's: the signature is made here, for Amazon's name as the host."""
    host = SANDBOX.removeprefix("https://")
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": host,
        "x-amz-date": moment,
        "x-amz-target": "MTurkRequesterServiceV20170117.GetAccountBalance",
    }
    body, names = b"{}", ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = "\n".join(["POST", "/", "", lines, names, hashlib.sha256(body).hexdigest()])
    scope = f"{moment[:8]}/us-east-1/mturk-requester/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{os.environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={names},"
        f" Signature={key.hex()}"
    )
    sent = urllib.request.Request(
        SANDBOX, body, {name: text for name, text in headers.items() if name != "host"}
    )
    with urllib.request.urlopen(sent) as reply:
        return json.load(reply)["AvailableBalance"]


def another_service() -> object:
    """A call that has nothing to do with Mechanical Turk."""
    once = Config(retries={"max_attempts": 0})
    return boto3.client("s3", region_name="us-east-1", config=once).list_buckets()


def without_a_proxy() -> object:
    """boto3, told to use no proxy."""
    direct = Config(proxies={"https": None}, retries={"max_attempts": 0})
    client = boto3.client("mturk", endpoint_url=PRODUCTION, region_name="us-east-1", config=direct)
    return client.get_account_balance()


def straight() -> object:
    """The standard library's connection knows no proxy at all."""
    connection = http.client.HTTPSConnection(
        PRODUCTION.removeprefix("https://"), timeout=10, context=ssl.create_default_context()
    )
    connection.request("GET", "/")
    return connection.getresponse().status


WAYS: tuple[Callable[[], object], ...] = (
    with_boto3,
    signed_by_hand,
    another_service,
    without_a_proxy,
    straight,
)

if __name__ == "__main__":
    (way,) = (way for way in WAYS if way.__name__ == sys.argv[1])
    try:
        print(json.dumps({"reply": way()}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
