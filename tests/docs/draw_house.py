"""Draws docs/house.svg: the rooms of each package as boxes in layers, with arrows for imports. `make docs`.

Layers come from the contracts in pyproject.toml, arrows from the imports in the code. An arrow is left out if
others lead the same way: a room may import whatever it can reach along arrows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import grimp

from tests.conftest import ROOT
from tests.docs.layered import Floors, Point, place

PICTURE = ROOT / "docs" / "house.svg"
DESIGN = ROOT / "docs" / "design.md"
WIDTH = 960
TALL, GAP = 50, 44
"""Height of a box, and between floors, in pixels."""

TOP = 24
"""Above the first floor of a house, in pixels."""

SIDE_BY_SIDE = 4
"""Rooms on a floor at most; a layer with more takes several floors."""

PHRASES = {
    "cli": "one file a command",
    "running": "demo and rehearsal",
    "interface": "for programs in Python",
    "web": "the form server",
    "report": "page, tables, archive",
    "crowd": "the researcher’s side",
    "market": "the marketplace",
    "simulated": "simulated annotators",
    "study": "a stored study and its file",
    "infills": "fills blanks, keeps infills",
    "foreign": "other people’s judgments",
    "planning": "power, width, cost",
    "scoring": "exclusions and scores",
    "design": "which row shows what",
    "statistics": "arrays in, figures out",
    "store": "tables, migrations, queries",
    "stories": "reads and checks story files",
    "control": "says that it is a machine",
    "human": "the sentence itself",
    "replay": "sentences from a file",
    "causal": "ilm, lm, fim, instruct",
    "masked": "bert",
    "sequence": "t5, bart",
    "self_attention": "sa",
    "endpoint": "models behind a server",
    "training": "corpus, loop, perplexity",
    "loading": "opened from Python",
    "sampling": "batches, tries, drawing",
    "checkpoints": "weights and vocabulary",
    "masks": "from a text to its blanks",
}
"""Room → what it is for, in the words of a box."""

GROUND = {
    "settings",
    "resources",
    "progress",
    "web_server",
    "request_turns",
    "open_forms",
    "patterns",
    "timed_replies",
    "server_logs",
    "kinds",
    "free_text",
    "csv_file",
    "csv_text",
    "encodings",
    "limits",
    "plugins",
    "conformance",
    "fees",
    "text",
    "domain",
    "errors",
    "options",
    "devices",
}
"""Modules that every room may import: one box, without arrows."""

PURE = "Design, scoring and statistics take values, never a database"
"""The contract that names the rooms without a database."""


@dataclass(frozen=True, slots=True)
class House:
    """A package: its floors from top to bottom, and which room imports which."""

    package: str
    floors: tuple[tuple[str, ...], ...]
    ground: tuple[tuple[str, ...], ...]
    imports: frozenset[tuple[str, str]]
    pure: frozenset[str]
    arrows: tuple[tuple[str, str], ...]
    """The imports between floors that no others lead to."""

    box: int
    """Width of a room, in pixels."""


def contracts() -> list[dict[str, Any]]:
    """The contracts about imports in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return found


def houses() -> list[House]:
    """A house for each package of the code that has a contract of layers."""
    pure = next(one["source_modules"] for one in contracts() if one["name"] == PURE)
    return [
        _house(package, contract["layers"], {module.rpartition(".")[2] for module in pure})
        for contract in contracts()
        if contract["type"] == "layers"
        for package in contract["containers"]
        if "." not in package
    ]


def layers_told(page: str) -> str:
    """The text of docs/design.md with the layers of the contract in its block."""
    (layers,) = (one["layers"] for one in contracts() if one.get("containers") == ["humaneval"])
    return re.sub(r"(?<=^```text\n)cli\n.+?(?=^```$)", "\n".join(layers) + "\n", page, flags=re.M | re.S)


def _house(package: str, layers: Sequence[str], pure: Iterable[str]) -> House:
    graph = grimp.build_graph(package, cache_dir=None)
    imports = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            rooms = [name.split(".")[1] for name in (module, imported) if "." in name]
            if len(rooms) == 2 and rooms[0] != rooms[1] and rooms[0] != "__main__":
                imports.add((rooms[0], rooms[1]))
    inside = {name.split(".")[1] for name in graph.modules if "." in name}
    floors: list[tuple[str, ...]] = []
    ground: list[tuple[str, ...]] = []
    for layer in layers:
        rooms = [room.strip("() ") for part in layer.split("|") for room in part.split(":")]
        here = tuple(room for room in rooms if room in inside)
        if here and GROUND.issuperset(here):
            ground.append(here)
        else:
            # Rooms that stand for themselves come first: no arrow then has to pass them.
            here = tuple(sorted(here, key=lambda room: any(a == room for a, b in imports if b not in GROUND)))
            floors += [here[n : n + SIDE_BY_SIDE] for n in range(0, len(here), SIDE_BY_SIDE)]
    level = {room: n for n, floor in enumerate(floors) for room in floor}
    # Nothing leads upwards; if it did, import-linter would say so.
    arrows = sorted((a, b) for a, b in imports if level.get(a, 0) < level.get(b, -1))
    kept = tuple((a, b) for a, b in arrows if not _leads(a, b, set(arrows) - {(a, b)}))
    box = 184 if len(floors) + len(ground) == len(layers) else 150
    return House(package, tuple(floors), tuple(ground), frozenset(imports), frozenset(pure), kept, box)


def _leads(start: str, end: str, arrows: set[tuple[str, str]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        after = {b for a, b in arrows if a == at} - seen
        if end in after:
            return True
        seen |= after
        waiting += after
    return False


def picture(all_of_them: Sequence[House]) -> str:
    """The picture as SVG; the same code gives the same text."""
    top, parts, described = 0, [], []
    for house in all_of_them:
        drawn, height = _drawn(house)
        parts.append(f'<g transform="translate(0,{top})">\n{drawn}\n</g>')
        described.append(f"{house.package}: {_described(house)}")
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" '
        'role="img" aria-labelledby="t d">\n<title id="t">The rooms of the code</title>\n'
        f'<desc id="d">{escape(" ".join(described))}</desc>\n<style>{_STYLE}</style>\n'
        '<rect width="100%" height="100%" class="sheet"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _drawn(house: House) -> tuple[str, int]:
    """One house, and how high it is."""
    placed = place(house.floors, house.arrows, WIDTH, house.box)
    y = {room: TOP + n * (TALL + GAP) for n, floor in enumerate(house.floors) for room in floor}
    parts = [f'<text x="16" y="34" class="title">{escape(house.package)}</text>', _lines(house, placed, y)]
    parts += [_box(house, room, placed.x[room], y[room]) for room in y]
    bottom = max(y.values()) + TALL + 24
    if house.ground:
        parts.append(_ground(house, bottom - 4))
        bottom += 30 * len(house.ground) + 22
    caption = f"{len(house.imports)} imports between {_count(house)} rooms and modules. All of them lead down"
    caption += f" along these {len(house.arrows)} arrows{', or to the ground' if house.ground else ''}."
    parts.append(f'<text x="16" y="{bottom + 12}" class="note">{escape(caption)}</text>')
    if house.pure & y.keys():
        parts.append(f'<rect x="700" y="{bottom + 1}" width="14" height="14" rx="3" class="pure"/>')
        parts.append(f'<text x="720" y="{bottom + 12}" class="note">takes values, knows no database</text>')
    return "\n".join(parts), bottom + 36


_STYLE = (
    "text{font-family:'DejaVu Sans',Verdana,Arial,sans-serif;text-anchor:middle}"
    ".sheet{fill:#fff}.room{fill:#eef3fa;stroke:#4a6fa5;stroke-width:1.2}"
    ".pure{fill:#eaf5ea;stroke:#4f8a5b;stroke-width:1.2}.ground{fill:#f4f1ea;stroke:#8a7a5b;stroke-width:1.2}"
    ".title{font-size:19px;font-weight:bold;fill:#1c2733;text-anchor:start}"
    ".name{font-size:15px;font-weight:bold;fill:#1c2733}.say{font-size:10.5px;fill:#4a5560}"
    ".note{font-size:11px;fill:#4a5560;text-anchor:start}"
    ".way{fill:none;stroke:#7b8794;stroke-width:1.3}.tip{fill:#7b8794}"
)


def _count(house: House) -> int:
    return sum(len(floor) for floor in (*house.floors, *house.ground))


def _described(house: House) -> str:
    return " ".join(
        f"{room} imports {', '.join(sorted(b for a, b in house.imports if a == room)) or 'nothing'}."
        for floor in house.floors
        for room in floor
    )


def _box(house: House, room: str, x: float, y: float) -> str:
    kind = "pure" if room in house.pure else "room"
    left = x - house.box / 2
    return (
        f'<rect x="{left:g}" y="{y:g}" width="{house.box}" height="{TALL}" rx="6" class="{kind}"/>'
        f'<text x="{x:g}" y="{y + 22:g}" class="name">{escape(room)}</text>'
        f'<text x="{x:g}" y="{y + 39:g}" class="say">{escape(PHRASES.get(room, ""))}</text>'
    )


def _ground(house: House, y: float) -> str:
    high = 30 * len(house.ground) + 18
    lines = [
        f'<text x="{WIDTH / 2:g}" y="{y + 26 + 30 * n:g}" class="name">{escape("   ·   ".join(floor))}</text>'
        for n, floor in enumerate(house.ground)
    ]
    note = f'<text x="32" y="{y + high - 12:g}" class="note">the ground: for every room</text>'
    return (
        f'<rect x="16" y="{y:g}" width="{WIDTH - 32}" height="{high}" rx="6" class="ground"/>'
        + note
        + "".join(lines)
    )


def _lines(house: House, placed: Floors, y: dict[str, int]) -> str:
    parts = []
    for (start, end), bends in placed.ways.items():
        leave = Point(placed.leave[start, end], y[start] + TALL)
        arrive = Point(placed.arrive[start, end], y[end] - 6)
        first = next(n for n, floor in enumerate(house.floors) if start in floor)
        path = f"M{leave.x:g},{leave.y:g}"
        at = leave
        # Straight down past each floor between, and curved from one to the next.
        for n, x in enumerate(bends, first + 1):
            top = TOP + n * (TALL + GAP)
            path += _curve(at, Point(x, top)) + f"V{top + TALL:g}"
            at = Point(x, top + TALL)
        path += _curve(at, arrive)
        tip = f"M{arrive.x:g},{arrive.y + 6:g}l-4,-7h8z"
        parts.append(f'<path d="{path}" class="way"/><path d="{tip}" class="tip"/>')
    return "\n".join(parts)


def _curve(start: Point, end: Point) -> str:
    middle = (start.y + end.y) / 2
    return f"C{start.x:g},{middle:g} {end.x:g},{middle:g} {end.x:g},{end.y:g}"


if __name__ == "__main__":
    PICTURE.write_text(picture(houses()), encoding="utf-8", newline="\n")
    DESIGN.write_text(layers_told(DESIGN.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
