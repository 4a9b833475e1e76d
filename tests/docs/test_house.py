"""The picture of the house is the code's own, and always the same."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

from tests.conftest import ROOT
from tests.docs.draw_house import DESIGN, PHRASES, PICTURE, contracts, houses, layers_told, picture
from tests.docs.layered import APART, place


def test_the_picture_shows_the_imports_of_the_code() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(houses()), "run `make docs`"


def test_the_design_tells_the_layers_of_the_contract() -> None:
    page = DESIGN.read_text(encoding="utf-8")
    assert page == layers_told(page), "run `make docs`"
    assert "\n".join(contracts()[0]["layers"]) in page


def test_every_room_is_drawn_with_what_it_is_for() -> None:
    drawn = {room for house in houses() for floor in house.floors for room in floor}
    assert drawn <= PHRASES.keys()
    assert len(drawn) >= 16


def test_every_import_leads_along_arrows_or_to_the_ground() -> None:
    for house in houses():
        ground = {room for floor in house.ground for room in floor}
        for start, end in house.imports:
            reached = {start}
            for _ in house.floors:
                reached |= {b for a, b in house.arrows if a in reached}
            assert end in ground or end in reached, (start, end)


def test_the_picture_does_not_depend_on_the_order_of_hashing() -> None:
    code = "import tests.docs.draw_house as drawn; print(drawn.picture(drawn.houses()))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_boxes_stand_apart_and_inside_the_picture() -> None:
    for house in houses():
        placed = place(house.floors, house.arrows, 960, house.box)
        for floor in house.floors:
            middles = sorted(placed.x[room] for room in floor)
            assert middles[0] >= house.box / 2
            assert middles[-1] <= 960 - house.box / 2
            assert all(b - a >= house.box + APART - 0.2 for a, b in pairwise(middles))
