"""The settings of a study that is made from a table: what the table itself decides, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from humaneval.domain import SENTENCES, Story, refuse_name, rounded_up
from humaneval.encodings import read_toml
from humaneval.errors import HumanEvalError, InputError, UsageError
from humaneval.limits import read_whole
from humaneval.scoring.questions.question import DETECT, Question, Settings, load_question
from humaneval.store.stories import AUTO, TEST
from humaneval.study.file import ReadStudyFile, StudyFile, read_study_file
from humaneval.study.from_table_rows import Contents, another_name
from humaneval.study.laid_out import design_of
from humaneval.study.presets import laid_by
from humaneval.study.usable_infills import SAMPLE, CommonBlanks, Only
from humaneval.text import ENGLISH, counted

FEWEST = 3
"""Passages of a form, at least, if the table has too few stories for one of each generator."""
MOST = 100
"""Annotators that are chosen without being asked for, as many as the paper had."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says about the study: its file, a preset, and settings of [design]."""

    file: Path | None
    preset: str | None
    design: Mapping[str, Any]


class Settled(NamedTuple):
    """The study's settings with their text, and a line for each thing that the table decided."""

    read: ReadStudyFile
    said: tuple[str, ...]
    only: Only
    """The blanks that every system of the table has filled, at the positions of the study."""
    lacking: Mapping[str, int]
    """For each system, the blanks of the table that it has not filled: they are left out for all."""


def settle(contents: Contents, asked: Asked) -> Settled:
    """The settings of the study. Raises InputError, before anything is stored, if the table is too small.

    Of a person's own file, everything holds but the generators. Without a file, the table also decides the
    number of annotators and the language of the stories.
    """
    own = _own(asked)
    said: list[str] = []
    page = _language(contents.stories, own, said)
    names = _generators(contents, asked, own, page, said)
    design: dict[str, Any] = {**asked.design, **names}
    common = _common(contents, design["generators"])
    every, counts = own.passages(design), _counts(common, own.positions(_length(contents)))
    if not counts:
        read_study_file(asked.file, preset=asked.preset, overrides={"design": design})  # which says why
        raise InputError(
            "the stories of the table have none of the positions under [design] of the study file",
            "Correct the line `positions`, or leave it out.",
        )
    noun = "generators" if every == len(design["generators"]) else "comparisons of two generators"
    size = _said_size(asked, own, design) or _size(counts, every, noun, said)
    if size != every:
        design["passages_per_row"] = size
    design["positions"] = _positions(counts, size, said)
    if split := _split(contents.stories, asked, own):
        design["split"] = split
    if not (why := _who_says(asked, own)):
        responses = own.design.get("responses_per_passage", 1)
        design["annotators"] = _annotators(common, design, size, responses, every)
    read = read_study_file(
        asked.file, preset=asked.preset, overrides={"design": design, **({"page": page} if page else {})}
    )
    only = {story: filled.intersection(design["positions"]) for story, filled in common.items()}
    only = {story: filled for story, filled in only.items() if filled}
    if (used := len(only)) < len(contents.stories):
        said.append(f"The study can show {used:,} of the {len(contents.stories):,} stories.")
    _try_out(read.settings, contents, common, why, said)
    return Settled(read, tuple(said), only, _lacking(contents, read.settings))


def _said_size(asked: Asked, own: _Own, design: Mapping[str, Any]) -> int | None:
    """How many passages a form shows, as a person said it. Raises SettingsError for what is no number."""
    size = own.design.get("passages_per_row")
    if size is None or isinstance(size, int):
        return size
    return read_study_file(
        asked.file, preset=asked.preset, overrides={"design": design}
    ).settings.design.passages_per_row


def _lacking(contents: Contents, settings: StudyFile) -> dict[str, int]:
    first = {blank for blank in contents.blanks if blank.sample == SAMPLE}
    wanted = {blank for blank in first if blank.position in settings.design.positions}
    counts = {
        name: len(wanted - {entry.blank for entry in entries})
        for name, entries in contents.systems.items()
        if name in settings.design.generators
    }
    return {name: count for name, count in counts.items() if count}


class _Own(NamedTuple):
    """The settings that a person gave, by file, preset or option."""

    design: Mapping[str, Any]
    page: Mapping[str, Any]
    asked: Question
    answers: Settings

    def positions(self, length: int) -> list[int]:
        """The positions that the study may use."""
        allowed, wanted = self.asked.positions(length), self.design.get("positions")
        return [at for at in allowed if not wanted or not isinstance(wanted, list) or at in wanted]

    def passages(self, design: Mapping[str, Any]) -> int:
        """How many passages a form shows by these generators, if it shows all."""
        control, human = (str(design.get(one, self.design.get(one, one))) for one in ("control", "human"))
        return len(self.asked.conditions(design["generators"], control, human, self.answers))


BROUGHT: Mapping[str, Any] = {"generators": ["control", "human", "system"], "annotators": 1}


def _own(asked: Asked) -> _Own:
    values: dict[str, Any] = {}
    if asked.file is not None:
        try:
            values = read_toml(read_whole(asked.file, "utf-8-sig"))
        except (OSError, ValueError):
            read_study_file(asked.file, preset=asked.preset)  # which says what is wrong
    design, page = values.get("design"), values.get("page")
    laid = laid_by(asked.preset).get("design", {})
    design = design if isinstance(design, dict) else {}
    answers = values.get("answers", {})
    try:
        question = load_question(str(values.get("question", DETECT)))
        settings = question.settings(answers if isinstance(answers, dict) else {})
    except HumanEvalError:
        # Which names the file. The table will bring what the file need not have.
        brought = {name: value for name, value in BROUGHT.items() if name not in design}
        read_study_file(asked.file, preset=asked.preset, overrides={"design": brought})
        raise
    page = page if isinstance(page, dict) else {}
    return _Own({**design, **laid, **asked.design}, page, question, settings)


def shows_rests(asked: Asked) -> bool:
    """Whether a system's text is the rest of a story, as the question of the study file has it."""
    return _own(asked).asked.rest


def _length(contents: Contents) -> int:
    """How many sentences most stories of the table have."""
    lengths = Counter(len(story.sentences) for story in contents.stories)
    lengths.update(len(blank.story.sentences) for blank in contents.blanks)
    return lengths.most_common(1)[0][0] if lengths else SENTENCES


def _language(stories: Sequence[Story], own: _Own, said: list[str]) -> dict[str, Any]:
    """The language of the stories, if it is not English and no file says one."""
    code, number = Counter(story.language for story in stories).most_common(1)[0] if stories else (ENGLISH, 0)
    said_one = own.page.get("story_language") or own.page.get("language", ENGLISH) != ENGLISH
    if code == ENGLISH or 2 * number <= len(stories) or said_one:
        return {}
    said.append(
        f"The stories are in another language than English (it seems to be {code}); the page itself is in"
        " English. For its own words, set page.language in a study file."
    )
    return {"story_language": code}


def _generators(
    contents: Contents, asked: Asked, own: _Own, page: Mapping[str, Any], said: list[str]
) -> dict[str, Any]:
    """Control, human and the table's systems, unless options name others."""
    control, human = own.design.get("control", "control"), own.design.get("human", "human")
    names: dict[str, Any] = {}
    if page and control == "control" and "generators" not in asked.design:  # so the English one is called
        control = names["control"] = f"control-{page['story_language']}"
    every = [control, human, *(name for name, entries in contents.systems.items() if entries)]
    for name in every[2:]:
        if name in (control, human):
            raise InputError(
                f"the table calls a system {name!r}, and that is the study's own {name}",
                f"Call it something else, or leave it out: {another_name(contents, name)}.",
            )
    _refuse_system_names(contents, every[2:])
    if "generators" in asked.design:
        return names
    given = own.design.get("generators")
    if isinstance(given, list) and set(map(str, given)) == set(every):
        return {**names, "generators": given}
    if given is not None and given != _bundled_generators():
        where = f"--preset {asked.preset}" if asked.preset else str(asked.file)
        said.append(f"The generators are those of the table, not those of {where}.")
    return {**names, "generators": every}


def _bundled_generators() -> list[str]:
    """Those of the file that `init` writes: nobody chose them."""
    return list(read_study_file(None).settings.design.generators)


def _refuse_system_names(contents: Contents, names: Sequence[str]) -> None:
    """Raise UsageError for a header that cannot be the name of a generator, and say how to give another."""
    for name in names:
        try:
            refuse_name(name)
        except UsageError as error:
            raise UsageError(
                error.message, f"Give it another: {another_name(contents, name, 'NAME')}. {error.hint}"
            ) from None


def _common(contents: Contents, generators: Collection[str]) -> dict[str, set[int]]:
    """The positions of each story that every system of the study has filled."""
    filled = [
        {(entry.blank.story.id, entry.blank.position) for entry in entries if entry.blank.sample == SAMPLE}
        for name, entries in contents.systems.items()
        if name in generators
    ]
    common: dict[str, set[int]] = {}
    for blank in contents.blanks:
        if all((blank.story.id, blank.position) in one for one in filled):
            common.setdefault(blank.story.id, set()).add(blank.position)
    return common


def _counts(common: Mapping[str, Collection[int]], positions: Sequence[int]) -> dict[int, int]:
    """How many stories are filled at each position that the study may use."""
    return {at: sum(at in filled for filled in common.values()) for at in positions}


def _size(counts: Mapping[int, int], generators: int, noun: str, said: list[str]) -> int:
    """How many passages a form shows: one of each generator or pair, or fewer if too few stories are left."""
    for size in range(generators, FEWEST - 1, -1):
        if 2 * sum(count for count in counts.values() if count >= size) >= sum(counts.values()) > 0:
            if size < generators:
                said.append(
                    f"A form shows {size} of the {generators} {noun}: each needs a story of its own, and too"
                    " few stories have the same position for more."
                )
            return size
    return generators


def _positions(counts: Mapping[int, int], size: int, said: list[str]) -> list[int]:
    """The positions with enough stories for a form. Those without any are not mentioned."""
    enough = [at for at, count in counts.items() if count >= size]
    few = [at for at, count in counts.items() if 0 < count < size]
    if not enough:
        most = max(counts, key=lambda at: counts[at])
        raise InputError(
            f"the table has too few stories: a form shows {size} passages of different stories, so a position"
            f" needs {size} stories that every system has filled, and position {most} has the most:"
            f" {counts[most]:,}",
            f"Give {size} or more stories with the same position: one for each system, one for human and one"
            f" for control.{' Or show fewer systems: --generators NAMES.' if counts[most] >= FEWEST else ''}",
        )
    for at in few:
        said.append(
            f"Position {at} is left out: every system has filled"
            f" {counted(counts[at], 'story', plural='stories')} there, and a form needs {size}."
        )
    if len(enough) == 1:
        said.append(
            f"All blanks are at position {enough[0]}. Annotators may notice that, and the scores hold for"
            " this position only."
        )
    return enough


def _split(stories: Sequence[Story], asked: Asked, own: _Own) -> str | None:
    """A split to name if the stories were imported before, and the study would not take them otherwise."""
    splits = {story.split for story in stories}
    if own.design.get("split", AUTO) != AUTO or splits <= {"", TEST}:
        return None
    return splits.pop() if len(splits) == 1 else ""


def _annotators(
    common: Mapping[str, Collection[int]],
    design: Mapping[str, Any],
    size: int,
    responses: Any,
    generators: int,
) -> int:
    """Enough for every passage, in whole rounds of the design, but not more than about MOST.

    A round has a row for each position and generator (or pair of them). It shows as many stories at each
    position as there are generators, and each of these passages once.
    """
    positions = design["positions"]
    if not isinstance(responses, int) or responses < 1:
        return MOST  # the study file is refused for it
    round_ = len(positions) * generators * responses
    stories = max(sum(at in filled for filled in common.values()) for at in positions)
    rows = rounded_up(-(-stories // generators) * round_ * generators // size, len(positions) * responses)
    return min(rows, max(MOST // round_ * round_, round_))


def _who_says(asked: Asked, own: _Own) -> str:
    """Where the number of forms was set; empty if nowhere."""
    if "annotators" not in own.design:
        return ""
    if "annotators" in asked.design:
        return "--annotators"
    return (
        f"--preset {asked.preset}"
        if "annotators" in laid_by(asked.preset).get("design", {})
        else str(asked.file)
    )


def _try_out(
    settings: StudyFile,
    contents: Contents,
    common: Mapping[str, set[int]],
    why: str,
    said: list[str],
) -> None:
    """Lay the design out, which raises DesignError if it is impossible, and say how many forms show what.

    `why` is what set their number, if the table did not.
    """
    design = settings.design
    table = {design.control, design.human, *contents.systems}
    if set(design.generators) - table:
        return  # infills of other generators are in the database, which decides
    blanks = {story: sorted(filled) for story, filled in common.items()}
    made = design_of(settings, CommonBlanks(blanks, {}, len(blanks), 0), design.annotators)
    times = Counter(cell for row in made.rows for cell in row)
    every = sum(at in design.positions for filled in common.values() for at in filled) * len(
        settings.conditions
    )
    forms = counted(design.annotators, "form")
    begun = f"As {why} says, {forms} will" if why else f"{forms} will"
    set_ = "" if why == "--annotators" else " --annotators sets another number."
    if len(times) == every:
        shown = f"show each of the {every:,} passages {_times(min(times.values()), max(times.values()))}."
    else:
        shown = f"show {len(times):,} of the {every:,} passages; the others are in no form."
    if (pairs := len(settings.conditions)) and any(len(one.generators) > 1 for one in settings.conditions):
        stories = counted(len(common), "story", plural="stories")
        shown += f" They are that many because each of the {stories} is shown in {pairs} comparisons."
    said.append(f"{begun} {shown} {passage_is(settings)}{set_}")


def _times(fewest: int, most: int) -> str:
    """`once`, `twice`, `2 to 3 times`."""
    words = {1: "once", 2: "twice"}
    if fewest == most:
        return words.get(most, f"{most:,} times")
    return "once or twice" if most == 2 else f"{fewest:,} to {most:,} times"


def passage_is(settings: StudyFile) -> str:
    """What a passage of the study is, in a sentence."""
    asked = settings.asked
    if asked.rest:
        return "A passage is a story with its rest taken from a system, from human or from control."
    if any(len(one.generators) > 1 for one in settings.conditions):
        return "A passage is a story with two sentences to choose between."
    return "A passage is a story with one sentence taken from a system, from human or from control."
