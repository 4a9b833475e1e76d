"""The worker's pages of HITs: the list, a preview, the HIT in hand, and what was done and earned."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from werkzeug.datastructures import MultiDict

from humaneval.market import assignments, offers
from humaneval.market.faults.effects import happening
from humaneval.market.faults.kinds import Trouble
from humaneval.market.faults.reused_id import reuse_id
from humaneval.market.faults.unseen_form import UNSEEN_PATH
from humaneval.market.pages.site import Answer, Frame, Visit, as_worker, before_in, problem_page, signed_in
from humaneval.market.protocol.addresses import with_query
from humaneval.market.protocol.http import NOT_ACCEPTED
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.questions.form_answers import Filled, read_filled
from humaneval.market.questions.question import read_question
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.security import BOXED
from humaneval.market.submissions import answer_of, submit
from humaneval.market.tables.assignments import FINISHED, Assignment, State
from humaneval.market.wording import time_left

blueprint = Blueprint("hits", __name__)


@blueprint.get("/")
def home() -> Answer:
    """The list of HITs."""
    return redirect("/hits", 303)


@blueprint.get("/hits")
@signed_in
def show_list(visit: Visit) -> Answer:
    """What the worker has in hand, and what they can take."""
    in_hand = assignments.in_hand_of(visit.work, visit.worker)
    begun = {each.number for each in in_hand}
    giving_way = visit.site.crowds.that_give_way()
    offered = offers.offers(visit.work, visit.worker, before=before_in(request), giving_way=giving_way)
    return visit.page(
        "hits.html",
        # What each person does once is not offered again beside the one in hand.
        offers=[each for each in offered.groups if not (each.once and each.kind.number in begun)],
        older=offered.older,
        in_hand=in_hand,
        now=visit.work.now,
        time_left=time_left,
    )


@blueprint.get("/mturk/preview")
@signed_in
def group(visit: Visit) -> Answer:
    """The next HIT of a group, at Mechanical Turk's own address."""
    group_id = request.args.get("groupId", "")
    giving_way = visit.site.crowds.that_give_way()
    hit = offers.next_in_group(visit.work, visit.worker, group_id, giving_way)
    if hit is None:
        mine = assignments.newest_in_group(visit.work, visit.worker, group_id)
        if mine is not None and mine.state == State.ACCEPTED:
            return redirect(f"/assignments/{mine.id}", 303)
        if mine is not None:
            said = "Your answers are stored, and there is nothing more for you to do here."
            return visit.page("problem.html", 404, heading="You have taken part", message=said)
        raise NotPossibleError("There is nothing left to do in this group.", 404)
    return redirect(with_query(f"/hits/{hit.id}", groupId=hit.group_id), 303)


@blueprint.get("/hits/<hit_id>")
@signed_in
def preview(visit: Visit, hit_id: str) -> Answer:
    """A HIT before it is accepted. With its group in the address, any other HIT of the group will do."""
    work = visit.work
    hit, obstacles, requirements = offers.hit_to_preview(work, visit.worker, hit_id)
    begun = assignments.begun_by(work, visit.worker)
    in_hand = next((each for each in begun if each.hit_id == hit_id), None)
    of_group = request.args.get("groupId", "") == hit.hit_type.group_id
    if of_group:  # the link of a study, opened again
        in_hand = in_hand or next((each for each in begun if each.kind == hit.hit_type_number), None)
        if in_hand is not None and offers.is_once(hit.hit_type):
            return redirect(f"/assignments/{in_hand.id}", 303)
    is_free, kind = hit.status == "Assignable", hit.hit_type_number
    giving_way = () if is_free else visit.site.crowds.that_give_way()
    available = is_free or offers.that_gives_way(work, visit.worker, giving_way, kind, hit.number) is not None
    if of_group and not available and in_hand is None:
        other = offers.next_in_group(work, visit.worker, hit.hit_type.group_id, giving_way)
        if other is not None:
            return redirect(with_query(f"/hits/{other.id}", groupId=other.group_id), 303)
    question, form, frame = read_question(hit.question, work.mode), None, None
    if isinstance(question, QuestionForm):
        form = question
    else:
        frame = visit.site.frame(hit, question, assignmentId=NOT_ACCEPTED, hitId=hit.id)
    return visit.page(
        "preview.html",
        frame=frame,
        form=form,
        hit=hit,
        available=available,
        obstacles=obstacles,
        requirements=requirements,
        in_hand=in_hand,
        another=in_hand is None or in_hand.hit_id != hit.id,
        of_group=of_group,
    )


@blueprint.post("/hits/<hit_id>/accept")
@signed_in
def accept(visit: Visit, hit_id: str) -> Answer:
    """Take one place of a HIT. If the form names its group, any other HIT of the group will do."""
    work, worker, crowds = visit.work, visit.worker, visit.site.crowds
    reused = happening(request.environ) is Trouble.REUSED_ID
    in_hand = assignments.begun_by(work, worker) if reused else []
    or_another = bool(request.form.get("groupId"))
    try:
        assignment = assignments.accept(work, worker, hit_id, or_another=or_another)
    except assignments.TakenError:
        assignments.make_room(work, worker, hit_id, crowds.that_give_way(), or_another=or_another)
        assignment = assignments.accept(work, worker, hit_id, or_another=or_another)
    if reused and assignment.id not in {each.id for each in in_hand}:
        reuse_id(work, assignment)
    crowds.took(worker, assignment, work.now)
    return redirect(f"/assignments/{assignment.id}", 303)


@blueprint.get("/assignments/<assignment_id>")
@signed_in
def show_work(visit: Visit, assignment_id: str) -> Answer:
    """The HIT in hand, or what became of it."""
    assignment = assignments.find_own(visit.work, visit.worker, assignment_id)
    visit.site.crowds.shown(visit.worker, assignment, visit.work.now)
    return _work_page(visit, assignment)


@blueprint.get("/assignments/<assignment_id>/state")
@signed_in
def show_state(visit: Visit, assignment_id: str) -> Answer:
    """What became of the HIT in hand, for the page around its frame."""
    assignment = assignments.find_own(visit.work, visit.worker, assignment_id)
    visit.site.crowds.shown(visit.worker, assignment, visit.work.now)
    state = State.SUBMITTED if assignment.state in FINISHED else assignment.state
    return visit.site.note(state.value)


@blueprint.post("/assignments/<assignment_id>/answer")
def answer(assignment_id: str) -> Answer:
    """Take the answers to a QuestionForm, or show it again with what must be changed.

    They are checked outside any transaction: a requester's patterns may take a while.
    """

    def asked(visit: Visit) -> QuestionForm | None:
        assignment = assignments.find_own(visit.work, visit.worker, assignment_id)
        question = read_question(assignment.hit.question, visit.work.mode)
        if not isinstance(question, QuestionForm):
            raise NotPossibleError("This task's answers are sent from its own page.", 400)
        return question if assignment.state is State.ACCEPTED else None

    form = as_worker(asked, writes=False)
    if not isinstance(form, QuestionForm):
        return form or redirect(f"/assignments/{assignment_id}", 303)
    filled = read_filled(form, request.form, request.files)
    if filled.faults:
        return as_worker(lambda visit: _faulty_page(visit, assignment_id, filled), writes=False)
    try:
        sent = answer_of(filled)
    except NotPossibleError as error:
        return problem_page(error)

    def kept(visit: Visit) -> Answer:
        # A worker who was too late reads so on the next page.
        if assignments.find_own(visit.work, visit.worker, assignment_id).state is State.ACCEPTED:
            submit(visit.work, assignment_id, sent)
            visit.site.crowds.in_hand.answered(assignment_id)
        return redirect(f"/assignments/{assignment_id}", 303)

    return as_worker(kept, writes=True)


@blueprint.post("/assignments/<assignment_id>/return")
@signed_in
def give_back(visit: Visit, assignment_id: str) -> Answer:
    """Return a HIT."""
    assignments.give_back(visit.work, visit.worker, assignment_id)
    visit.site.crowds.in_hand.ended(assignment_id)
    return redirect("/hits", 303)


@blueprint.get("/my-work")
@signed_in
def my_work(visit: Visit) -> Answer:
    """Everything that the worker has done, with what it earned: a page of it, newest first."""
    done = assignments.work_of(visit.work, visit.worker, before=before_in(request))
    full = len(done) == assignments.WORK_ON_A_PAGE
    return visit.page(
        "my_work.html",
        done=done,
        sums=assignments.sums_of(visit.work, visit.worker),
        older=done[-1].assignment.number if full else None,
    )


def _faulty_page(visit: Visit, assignment_id: str, filled: Filled) -> Answer:
    return _work_page(visit, assignments.find_own(visit.work, visit.worker, assignment_id), filled, 400)


def _work_page(
    visit: Visit, assignment: Assignment, filled: Filled | None = None, status: int = 200
) -> Answer:
    hit, frame, form = assignment.hit, None, None
    if assignment.state is State.ACCEPTED:
        question = read_question(hit.question, visit.work.mode)
        if isinstance(question, QuestionForm):
            form = question
        else:
            frame = visit.site.frame(
                hit,
                question,
                assignmentId=assignment.id,
                hitId=hit.id,
                workerId=visit.worker.id,
                turkSubmitTo=visit.site.origin,
            )
            if happening(request.environ) is Trouble.UNSEEN and frame.origin:
                frame = Frame(f"{UNSEEN_PATH}/{assignment.id}", frame.height, "", BOXED)
    return visit.page(
        "work.html",
        status,
        frame=frame,
        form=form,
        assignment=assignment,
        hit=hit,
        left=time_left(assignment.deadline, visit.work.now),
        faults=filled.faults if filled else {},
        sent=request.form if filled else MultiDict[str, str](),
    )
