"""Studies over the API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import request
from sqlalchemy import select

from humaneval.market.prolific_standin import shown, studies
from humaneval.market.prolific_standin.api.calls import Answer, api, asked, body, call, here, sent
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.paging import by_page
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.study_fields import is_number
from humaneval.market.prolific_standin.tables import Study, StudyStatus

blueprint = api("studies")


@blueprint.post("/studies/")
@call
def create_study(work: Work) -> Answer:
    """Make a draft."""
    return shown.study(work, studies.create(work, body())), 201


@blueprint.get("/studies/")
@call
def list_studies(work: Work) -> Answer:
    """All studies, or those of one state."""
    wanted, query = request.args.get("state", ""), select(Study).order_by(Study.number.desc())
    if wanted:
        state = wanted.replace("_", " ")
        if state not in list(StudyStatus):
            raise Refusal({"state": [f'"{wanted}" is not a valid choice.']})
        query = query.where(Study.status == state)
    return _page(work, list(work.session.scalars(query)))


@blueprint.get("/projects/<project_id>/studies/")
@call
def list_studies_of_project(work: Work, project_id: str) -> Answer:
    """The studies of a project. A state is not heeded here, as was seen."""
    if studies.find_project(work, project_id) is None:
        raise NotFound("Project")
    query = select(Study).where(Study.project_id == project_id).order_by(Study.number.desc())
    return _page(work, list(work.session.scalars(query)))


@blueprint.get("/studies/<study_id>/")
@call
def get_study(work: Work, study_id: str) -> Answer:
    """A study in detail."""
    return shown.study(work, studies.find_study(work, study_id))


@blueprint.patch("/studies/<study_id>/")
@call
def change_study(work: Work, study_id: str) -> Answer:
    """Change fields of a study."""
    study = studies.find_study(work, study_id)
    studies.change(work, study, body())
    return shown.study(work, study)


@blueprint.delete("/studies/<study_id>/")
@call
def delete_study(work: Work, study_id: str) -> Answer:
    """Delete a draft."""
    studies.delete(work, studies.find_study(work, study_id))
    return None, 204


@blueprint.post("/studies/<study_id>/clone/")
@call
def clone_study(work: Work, study_id: str) -> Answer:
    """A draft like this study."""
    given = sent()
    block = isinstance(given, dict) and bool(given.get("block_previous_participants"))
    return shown.study(work, studies.clone(work, studies.find_study(work, study_id), block=block))


@blueprint.post("/studies/<study_id>/transition/")
@call
def transition_study(work: Work, study_id: str) -> Answer:
    """Publish, schedule, pause, start or stop."""
    given, study = body(), studies.find_study(work, study_id)
    studies.transition(work, study, given.get("action"), _moment(given.get("publish_at")))
    return shown.study(work, study)


@blueprint.get("/studies/<study_id>/cost/")
@call
def cost_of_study(work: Work, study_id: str) -> Answer:
    """What a study's places and bonuses cost."""
    return shown.study_costs(work, studies.find_study(work, study_id))


@blueprint.post("/study-cost-calculator/")
@call
def calculate_cost(work: Work) -> Answer:
    """What a study would cost."""
    given = body()
    numbers = given.get("reward"), given.get("total_available_places")
    if not all(is_number(each) for each in numbers):
        raise Refusal("reward and total_available_places must be whole numbers above 0.")
    return {"total_cost": work.terms.cost(given["reward"]).times(given["total_available_places"]).total}


@blueprint.post("/studies/<study_id>/test-study")
@call
def make_test_study(work: Work, study_id: str) -> Answer:
    """A copy that participants for tests can take. It costs nothing, and never fills up by itself."""
    study = studies.clone(work, studies.find_study(work, study_id))
    study.is_test = True
    studies.set_status(work, study, StudyStatus.ACTIVE)
    study.published_at = work.now
    return {"study_id": study.id, "study_url": f"{request.host_url}studies/{study.id}"}


def _page(work: Work, found: list[Study]) -> dict[str, Any]:
    listed = [shown.study_in_list(work, each) for each in found]
    return by_page(listed, asked(), here(), work.terms.most_on_a_page)


def _moment(given: object) -> datetime | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(str(given))
        return found.astimezone(UTC) if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Refusal({"publish_at": ["This is not a moment."]}) from None
