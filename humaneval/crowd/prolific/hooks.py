"""Prolific's calls about events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from humaneval.crowd.prolific.client import ProlificClient


class Subscribed(NamedTuple):
    """A subscription that is not confirmed yet, and the word that confirms it."""

    id: str
    handshake: str


class Hooks:
    """The subscriptions of one account."""

    def __init__(self, client: ProlificClient) -> None:
        self._client = client

    def secrets(self, workspace: str) -> list[str]:
        """The secrets of a workspace; "" for one that is not shown."""
        listed = self._client.items("list secrets", "/hooks/secrets/", {"workspace_id": workspace})
        return [_secret(each) for each in listed]

    def new_secret(self, workspace: str) -> str:
        """Make a secret, which replaces the old one."""
        return _secret(self._client.send("make a secret", "/hooks/secrets/", {"workspace_id": workspace}))

    def subscriptions(self, workspace: str) -> Sequence[dict[str, Any]]:
        """Every subscription of a workspace."""
        of = {"workspace_id": workspace}
        return self._client.items("list subscriptions", "/hooks/subscriptions/", of)

    def subscribe(self, workspace: str, kind: str, target: str) -> Subscribed:
        """Subscribe to one kind of event. Nothing is sent before it is confirmed."""
        wanted = {"workspace_id": workspace, "event_type": kind, "target_url": target}
        made = self._client.send_and_read_header(
            "subscribe", "/hooks/subscriptions/", wanted, header="X-Hook-Secret"
        )
        return Subscribed(str(made.body["id"]), made.header)

    def confirm(self, subscription: str, handshake: str) -> None:
        """Confirm a subscription."""
        path = f"/hooks/subscriptions/{subscription}/"
        self._client.set("confirm a subscription", "POST", path, {"secret": handshake})

    def unsubscribe(self, subscription: str) -> None:
        """Delete a subscription."""
        self._client.set("unsubscribe", "DELETE", f"/hooks/subscriptions/{subscription}/", None)


def _secret(told: Mapping[str, Any]) -> str:
    return str(told.get("value") or told.get("secret") or "")
