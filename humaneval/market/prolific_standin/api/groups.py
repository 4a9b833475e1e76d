"""Participant groups over the API."""

from __future__ import annotations

from typing import Any

from flask import request
from sqlalchemy import select

from humaneval.market.prolific_standin import groups, shown
from humaneval.market.prolific_standin.api.calls import Answer, api, asked, body, call, here, own_workspace
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.paging import by_offset
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import find_project
from humaneval.market.prolific_standin.tables import Group

blueprint = api("groups")


@blueprint.get("/participant-groups/")
@call
def list_groups(work: Work) -> Answer:
    """The groups of the workspace, or of a project."""
    project = request.args.get("project_id")
    if project is None and "workspace_id" not in request.args:
        raise Refusal("Give workspace_id or project_id.")
    if project is None:
        own_workspace(work, request.args["workspace_id"])
    elif find_project(work, project) is None:
        raise Refusal("Project not found.", 404)
    query = select(Group).where(Group.deleted.is_(False)).order_by(Group.made_at, Group.id)
    return by_offset([shown.group(work, each) for each in work.session.scalars(query)], asked(), here())


@blueprint.post("/participant-groups/")
@call
def create_group(work: Work) -> Answer:
    """A new group of the workspace."""
    given = body()
    if "project_id" in given:
        raise Refusal({"project_id": ["This field is no longer supported. Use workspace_id."]})
    own_workspace(work, given.get("workspace_id"))
    group = groups.make(work, given.get("name"), given.get("description"), given.get("participant_ids"))
    return shown.group(work, group), 201


@blueprint.get("/participant-groups/<group_id>/")
@call
def get_group(work: Work, group_id: str) -> Answer:
    """A group in detail."""
    return shown.group(work, groups.find(work, group_id))


@blueprint.patch("/participant-groups/<group_id>/")
@call
def change_group(work: Work, group_id: str) -> Answer:
    """Another name, or other members: they replace those of before."""
    given, group = body(), groups.find(work, group_id)
    if isinstance(given.get("name"), str):
        group.name = given["name"]
    if isinstance(given.get("description"), str):
        group.description = given["description"]
    if "participant_ids" in given:
        ids = groups.ids_in(given["participant_ids"])
        groups.leave(work, group_id)
        groups.join(work, group_id, ids)
    return shown.group(work, group)


@blueprint.delete("/participant-groups/<group_id>/")
@call
def delete_group(work: Work, group_id: str) -> Answer:
    """Delete a group. Its row stays."""
    groups.find(work, group_id).deleted = True
    return None, 204


@blueprint.get("/participant-groups/<group_id>/participants/")
@call
def list_members(work: Work, group_id: str) -> Answer:
    """The members of a group."""
    return _members(work, groups.find(work, group_id))


@blueprint.post("/participant-groups/<group_id>/participants/")
@call
def add_members(work: Work, group_id: str) -> Answer:
    """Add members."""
    group = groups.find(work, group_id)
    groups.join(work, group_id, groups.ids_in(body().get("participant_ids")))
    return _members(work, group)


@blueprint.delete("/participant-groups/<group_id>/participants/")
@call
def remove_members(work: Work, group_id: str) -> Answer:
    """Take members out."""
    group = groups.find(work, group_id)
    groups.leave(work, group_id, groups.ids_in(body().get("participant_ids")))
    return _members(work, group)


def _members(work: Work, group: Group) -> dict[str, Any]:
    return {
        "results": [
            {"participant_id": each.participant_id, "datetime_created": shown.moment(each.made_at)}
            for each in groups.members(work, group.id)
        ]
    }
