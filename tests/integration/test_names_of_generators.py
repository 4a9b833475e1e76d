"""A generator's name is never a path: no door takes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from humaneval.store.engine import open_engine
from humaneval.store.tables import GeneratorRow
from tests.commands import Command

PATHS = ["../../x", "..", "/etc/x", "~/x", "a//b", "./x", "a\\b", "a/../b", "x/"]


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_no_name_of_a_generator_at_any_door(
    command: Command, sqlite_database: str, name: str
) -> None:
    command("stories", "import", "--bundled")
    story = command("stories", "list", "--json").json["stories"][0]["id"]
    Path("infills.jsonl").write_text(
        json.dumps({"story": story, "position": 1, "generator": name, "text": "It was so."}) + "\n"
    )
    Path("study.toml").write_text(f"[design]\ngenerators = ['control', {json.dumps(name)}]\n")
    table = f'worker,story,generator,position,choice\nw1,s1,"{name}",1,2\nw2,s1,"{name}",1,1\n'
    Path("responses.csv").write_text(table)
    doors = [
        ("generate", "--generator", "control", "--as", name),
        ("generate", "--generator", "replay", "--checkpoint", "infills.jsonl"),
        ("study", "create", "s", "--file", "study.toml"),
        ("study", "create", "s", "--generators", f"control,{name}"),
        ("responses", "import", "responses.csv", "--out", "out.csv", "--study", "s", "--yes"),
    ]
    for door in doors:
        said = command(*door)
        assert said.code in (1, 2), door
        assert "name" in said.err, (door, said.err)
        assert repr(name) in said.err, (door, said.err)
    engine = open_engine(sqlite_database)
    with engine.connect() as connection:
        assert connection.scalars(select(GeneratorRow.name)).all() == []
    engine.dispose()
    assert not Path("out.csv").exists()


def test_names_of_models_with_one_slash_stay_names(command: Command, sqlite_database: str) -> None:
    command("stories", "import", "--bundled")
    said = command("generate", "--generator", "control", "--as", "ai2/olmo-1b", "--stories", "1")
    assert said.code == 0, said.err
