"""The researcher's account at Prolific: workspace and project, money, and groups of participants."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_UP, Decimal
from typing import Any, NamedTuple

from humaneval.crowd.platform import Cost
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.submission import major, minor
from humaneval.errors import PlatformError, SettingsError
from humaneval.fees import CENT

SAMPLE = Decimal("100.00")
"""A reward whose fee is asked for, to know the fee on a bonus: fees are a share."""


class PayAdvice(NamedTuple):
    """What Prolific says of pay by the hour, in the account's currency."""

    currency: str
    least: Decimal | None
    recommended: Decimal | None


class Account:
    """What belongs to the account behind a token, and not to one study. `project` may be empty."""

    def __init__(self, client: ProlificClient, project: str) -> None:
        self._client, self._project = client, project
        self._workspace = ""
        self._totals: dict[tuple[int, int], Decimal] = {}

    @property
    def project(self) -> str:
        """The project for our studies. Raises SettingsError if none is set: Prolific would take the first
        one."""
        if not self._project:
            there = ", ".join(f"{each['id']} ({each.get('title', '')})" for each in self._projects())
            raise SettingsError(
                "prolific_project is not set",
                f"Set PROLIFIC_PROJECT to the id of a project. There are: {there or 'none'}.",
            )
        return self._project

    @property
    def workspace(self) -> str:
        """The workspace of the project."""
        if not self._workspace:
            mine = [each["workspace"] for each in self._projects() if each["id"] == self.project]
            if not mine:
                raise SettingsError(
                    f"no workspace of this account has the project {self._project}",
                    "Set PROLIFIC_PROJECT to the id of a project that the token's owner can see.",
                )
            self._workspace = str(mine[0])
        return self._workspace

    def _projects(self) -> Iterator[dict[str, Any]]:
        for workspace in self._client.by_offset("list workspaces", "/workspaces/"):
            path = f"/workspaces/{workspace['id']}/projects/"
            for project in self._client.by_offset("list projects", path):
                yield {**project, "id": str(project["id"]), "workspace": str(workspace["id"])}

    def balance(self) -> Decimal | None:
        """What can still be spent, in the account's currency; None if Prolific does not say."""
        told = self._client.read("read the balance", f"/workspaces/{self.workspace}/balance/")
        available = told.get("available_balance")
        return None if available is None else major(available)

    def currency(self) -> str:
        """The currency of every amount, for example GBP; empty if Prolific does not say."""
        told = self._client.read("read the balance", f"/workspaces/{self.workspace}/balance/")
        return str(told.get("currency_code") or "")

    def pay_advice(self) -> PayAdvice:
        """The lowest and the recommended pay by the hour. The first of the list is the newest."""
        currency = self.currency()
        listed = self._client.items(
            "read the pay recommendations",
            "/reward-recommendations/",
            {"workspace_id": self.workspace, "currency": currency},
        )
        first: dict[str, Any] = next(
            (each for each in listed if each.get("currency", currency) == currency), {}
        )
        least, recommended = first.get("min_reward_per_hour"), first.get("recommended_reward_per_hour")
        return PayAdvice(
            currency,
            None if least is None else major(least),
            None if recommended is None else major(recommended),
        )

    def cost(self, reward: Decimal, places: int) -> Cost:
        """What so many places cost with fees and taxes, by Prolific. It is asked once for each number."""
        if not reward or not places:
            return Cost(Decimal("0.00"), Decimal("0.00"))
        asked = minor(reward), places
        if asked not in self._totals:
            told = self._client.set(
                "calculate the cost",
                "POST",
                "/study-cost-calculator/",
                {"reward": asked[0], "total_available_places": places},
            )
            if not isinstance(told, dict) or told.get("total_cost") is None:
                raise PlatformError(f"{self._client.url} did not say what a study costs", nothing_done=True)
            self._totals[asked] = major(told["total_cost"])
        return Cost(reward * places, self._totals[asked] - reward * places)

    def bonus_cost(self, amount: Decimal) -> Cost:
        """What a bonus is expected to cost; Prolific says exactly when it is set up."""
        share = self.cost(SAMPLE, 1).fees / SAMPLE
        return Cost(amount, (amount * share).quantize(CENT, ROUND_UP))

    def group(self, name: str, description: str) -> str:
        """The id of the group of participants with exactly this name, made if there is none."""
        if found := self._group_named(name):
            return found
        wanted = {"workspace_id": self.workspace, "name": name, "description": description}
        try:
            made = self._client.send("make a group", "/participant-groups/", wanted)
        except PlatformError:
            if found := self._group_named(name):
                return found
            raise
        return str(made["id"])

    def _group_named(self, name: str) -> str:
        groups = self._client.by_offset("list groups", "/participant-groups/", workspace_id=self.workspace)
        return next(
            (str(each["id"]) for each in groups if each.get("name") == name and not each.get("is_deleted")),
            "",
        )

    def has_group(self, group: str) -> bool:
        """Whether there is such a group."""
        try:
            there = self._client.read("look up a group", f"/participant-groups/{group}/")
        except PlatformError as error:
            if error.code != "404":
                raise
            return False
        return not there.get("is_deleted")

    def change_group(self, group: str, participant: str, *, into: bool) -> None:
        """Put a participant into a group, or take them out. Twice is the same as once."""
        self._client.set(
            "change a group",
            "POST" if into else "DELETE",
            f"/participant-groups/{group}/participants/",
            {"participant_ids": [participant]},
        )
