"""A panel's own list of people against our answers: people in one of them only, and those to be paid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.cli.panel_list import list_lines
from humaneval.crowd.forget import forget
from humaneval.crowd.panel_list import ListCompared, compare_list
from humaneval.crowd.panels import panels_id
from humaneval.crowd.purge import purge
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, WorkerIdentityRow, WorkerRow
from humaneval.store.types import now
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, panel, take

PROLIFIC = {"panel": "prolific", "completion_code": "C0DE", "screened_out": "AWAY", "pay": "elsewhere"}
HEADER = "Submission id,Participant id,Status,Completion code\n"


def names(study: LinkStudy) -> dict[str, str]:
    """The pseudonym of each id of the panel."""
    with reading(study.engine) as session:
        query = select(WorkerIdentityRow.external_id, WorkerRow.pseudonym).join(
            WorkerRow, WorkerRow.id == WorkerIdentityRow.worker_id
        )
        return {panels_id(row.external_id): row.pseudonym for row in session.execute(query)}


def compared(study: LinkStudy, path: Path, text: str) -> ListCompared:
    path.write_text(text, encoding="utf-8")
    return compare_list(open_study_at(study.engine, study.name, study.platform), path)


def kept(study: LinkStudy) -> Any:
    with reading(study.engine) as session:
        return session.execute(
            select(AssignmentRow.id, AssignmentRow.state, AssignmentRow.excluded, AssignmentRow.row_id)
        ).all()


def test_C76_P27_the_panels_list_is_compared_with_our_answers_and_nothing_moves(
    sqlite_engine: Engine,
    sqlite_database: str,
    by_link: Callable,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 8}, link=PROLIFIC)
    link = study.panel_link()
    for person in ("agrees", "returned", "absent", "shared"):
        take(panel(link, person, f"S-{person}"))
    begin(panel(link, "begun", "S-begun"))
    name, before = names(study), kept(study)
    listed = HEADER + (
        "S-agrees,agrees,APPROVED,C0DE\n"  # line 2
        "S-returned,returned,RETURNED,\n"
        "S-shared,shared,AWAITING_REVIEW,OTHER\n"
        "S-begun,begun,AWAITING REVIEW,C0DE\n"  # line 5
        "S-never,never,AWAITING REVIEW,C0DE\n"
        "S-again,agrees,AWAITING REVIEW,C0DE\n"
        "S-away,away,APPROVED,AWAY\n"  # line 8
        "S-late,late,TIMED-OUT,\n"
    )
    found = compared(study, tmp_path / "prolific.csv", listed)
    assert (found.lines, found.done_there, found.sent_here, found.agree, found.sent_away) == (8, 5, 4, 1, 1)
    assert found.not_here == ((5, name["begun"], "begun"), (6, "", ""))
    assert found.not_there == (name["absent"],)
    assert found.not_done == ((3, name["returned"], "RETURNED"),)
    assert found.other_code == ((4, name["shared"], "complete"),)
    assert found.twice == ((7, name["agrees"], ""),)
    assert (found.to_pay, str(found.owed)) == (3, "2.40")
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    said = command("status", "study", "--panel-list", tmp_path / "prolific.csv")
    assert said.code == 3
    assert said.out.splitlines() == [
        "The list has 8 lines, 5 of them done. 4 forms were sent here; 1 agree.",
        "1 line has the code of people who got no form.",
        "Done there, and never here: line 6. Look at them before you pay them.",
        f"Done there, and begun but not sent here: line 5 ({name['begun']}). Look at them before you pay"
        " them.",
        f"There again, beyond the forms that they sent: line 7 ({name['agrees']}).",
        f"Sent here, and not in the list: {name['absent']}.",
        f"Sent here, and RETURNED there: line 3 ({name['returned']}).",
        f"Not the code that they got (complete): line 4 ({name['shared']}).",
        "Done here, and the panel may not pay it by itself: 3 forms, $2.40 in all.",
    ]
    assert not any(id in said.out + said.err for id in ("S-", "absent,", "shared,"))
    as_json = command("status", "study", "--panel-list", tmp_path / "prolific.csv", "--json").json
    assert as_json["panel_list"]["not_here"][1] == {"line": 6, "worker": "", "why": ""}
    assert kept(study) == before


def test_P27_a_list_of_ids_alone_needs_no_names_and_may_have_lost_its_zeros(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine, link={"panel": "sona", "completion_url": "https://sona.example/c"})
    link = study.panel_link()
    for code in ("00123", "4567"):
        take(f"{link}?survey_code={code}")
    path = tmp_path / "sona.csv"
    assert compared(study, path, "123\n4567\n").agrees
    found = compared(study, path, "survey_code\n4567\n")
    assert (found.not_there, found.owed) == ((names(study)["00123"],), None)
    assert list(list_lines(compared(study, path, "00123\n04567\n"), "$"))[-1] == (
        "The list and our answers agree."
    )


@pytest.mark.parametrize("ids_per_study", [False, True])
def test_P27_people_whose_data_is_deleted_were_here_all_the_same(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path, ids_per_study: bool
) -> None:
    study = by_link(sqlite_engine, link=PROLIFIC, panel={"ids_per_study": ids_per_study})
    link = study.panel_link()
    for person in ("asked", "kept", "other"):
        take(panel(link, person, f"S-{person}"))
    name = names(study)
    forget(sqlite_engine, name["asked"])
    purge(sqlite_engine, now(), now())
    listed = HEADER + (
        "S-asked,asked,APPROVED,C0DE\n"  # line 2
        "S-kept,kept,APPROVED,C0DE\n"
        "S-never,never,APPROVED,C0DE\n"
    )
    found = compared(study, tmp_path / "list.csv", listed)
    assert found.not_here == ((2, "", "forgotten"), (4, "", ""))
    assert (found.agree, found.not_there, found.ids_deleted) == (1, (), 1)
    said = list(list_lines(found, "$"))
    assert "Done there, and never here: line 4. Look at them before you pay them." in said
    assert "Done there, and forgotten here on request: line 2." in said


def test_P27_who_missed_the_control_has_another_code_than_people_who_are_done(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine, link={**PROLIFIC, "failed_control": "F41L"})
    link = study.panel_link()
    take(panel(link, "P1", "S1"))  # the first sentence everywhere: the control is missed
    path = tmp_path / "list.csv"
    assert compared(study, path, HEADER + "S1,P1,AWAITING REVIEW,F41L\n").agrees
    found = compared(study, path, HEADER + "S1,P1,AWAITING REVIEW,C0DE\n")
    assert (found.other_code[0].why, found.to_pay) == ("failed_control", 0)


def test_P27_only_people_of_a_panels_link_are_in_a_list(
    sqlite_engine: Engine, by_link: Callable, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine)
    take(study.open_link())
    with pytest.raises(UsageError, match="has no link for a panel"):
        compared(study, tmp_path / "list.csv", "PROLIFIC_PID\nP1\n")
