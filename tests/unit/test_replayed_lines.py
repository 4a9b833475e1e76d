"""The lines of a file of infills: small, found again, and the same however the file is written."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from generators.replay.generator import Replay, build
from generators.replay.lines import MOST_SAMPLES, Entry, Lines
from humaneval.domain import GeneratorRequest
from humaneval.errors import InputError

ROWS = [("s2", 5, "lm", "Das war’s."), ("s1", 1, "lm", "“One,” he said."), ("s1", 2, "lm", "A, b; c.")]
HEADER = ("story", "position", "generator", "text")


def test_a_line_takes_its_text_and_a_few_bytes() -> None:
    lines = Lines({})
    entries = [Entry(2 + n, f"s{n // 5}", n % 5 + 1, "lm", 1, f"{n:060}") for n in range(20_000)]
    tracemalloc.start()
    for entry in entries:
        lines.add(entry)
    assert lines.sort() is None
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / len(entries) < 60 + 24 + 40
    assert lines.find("s7", 3, 1) == (2 + 37, f"{37:060}")
    assert (
        lines.find("s7", 3, 2) is lines.find("s4000", 1, 1) is lines.find("s7", 3, MOST_SAMPLES + 1) is None
    )


def replayed(path: Path) -> Replay:
    (found,) = build(GeneratorRequest("replay", checkpoint=str(path)))
    assert isinstance(found, Replay)
    return found


def test_a_file_gives_the_same_lines_however_it_is_encoded_and_ended(tmp_path: Path) -> None:
    table = [HEADER, *ROWS]
    plain = "".join("\t".join(map(str, row)) + "\n" for row in table)
    objects = "".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in ROWS)
    written = {
        "plain": plain.encode(),
        "unix, cut": plain.rstrip("\n").encode(),
        "windows": plain.replace("\n", "\r\n").encode("utf-8-sig"),
        "old mac": plain.replace("\n", "\r").encode(),
        "utf-16": plain.encode("utf-16"),
        "cp1252": plain.encode("cp1252"),
        "objects": objects.encode(),
        "objects, old mac": objects.replace("\n", "\r").encode(),
        "objects, one broken": objects.replace("{", "{\r").replace("\n", "\r\n").encode(),
    }
    hashes = {}
    for name, content in written.items():
        path = tmp_path / name
        path.write_bytes(content)
        found = replayed(path)
        hashes[name] = found.sha256
        assert list(found.keys()) == [("s2", 5, 1), ("s1", 1, 1), ("s1", 2, 1)]
        assert found.lines.find("s2", 5, 1) == (2 - name.startswith("objects"), "Das war’s.")
    assert set(hashes.values()) == {hashes["plain"]}


def test_a_sample_beyond_what_the_database_has_room_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(f"story,position,generator,text,sample\ns1,1,lm,x,{MOST_SAMPLES + 1}\n")
    with pytest.raises(InputError, match="sample 16777216"):
        replayed(path)


def test_a_column_of_other_names_does_not_make_a_system_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("story,position,generator,text\n" + "".join(f"s1,1,id {n},He ran.\n" for n in range(300)))
    with pytest.raises(InputError, match=r"201 generators in .*, up to line 202; at most 200") as refused:
        build(GeneratorRequest("replay", checkpoint=str(path)))
    assert refused.value.hint == "Is it another column that names them?"
