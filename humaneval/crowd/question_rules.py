"""Rules for the pages of a question: they ask for every field, show every sentence, and give nothing away."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape

from lxml import html

from humaneval.crowd.answers import answer_field
from humaneval.crowd.form_page import Delivery, Form, ShownPassage, render_form, tells_position
from humaneval.resources import words_in
from humaneval.scoring.questions.conformance import LENGTHS, Rule, ShownAs, Trial
from humaneval.study.file import StudyFile
from humaneval.study.words import ANY, ENGLISH, with_texts

NAMES = ("secret-control", "secret-human", "secret-one", "secret-two")


def words(trial: Trial) -> str | None:
    """Its English words have what every page of a question needs."""
    every = set(words_in(ENGLISH))
    own = set(words_in(ENGLISH, question=trial.question.folder))
    example = {f"example_{number}" for number in range(1, trial.question.example.sentences + 1)}
    needed = {one for one in every if not one.startswith("example_") and not one.endswith(ANY)} | example
    lacking = sorted(needed - own)
    return f"words/en.toml has no {lacking[0]}" if lacking else None


def page(trial: Trial) -> str | None:
    """The form of a passage has every answer once, every sentence, and no name of a generator."""
    for sentences in LENGTHS:
        shown = [one for one in trial.passages() if one.truth.sentences == sentences]
        for at in range(0, len(shown), 8):
            if fault := _page(trial, shown[at : at + 8], sentences):
                return fault
    return None


def _page(trial: Trial, passages: Sequence[ShownAs], sentences: int) -> str | None:
    question, settings = trial.question, trial.settings
    told = tells_position(question)
    fields = question.fields(settings, sentences)
    form = Form(
        _study(trial),
        tuple(
            ShownPassage(
                place,
                one.shown.sentences,
                position=one.shown.position if told else 0,
                alternative=one.shown.alternative,
                fields=tuple(field.name for field in fields),
            )
            for place, one in enumerate(passages, 1)
        ),
        "hash",
    )
    written = render_form(form, Delivery("/form/key"))
    text = " ".join(unescape(" ".join(html.fromstring(written).itertext())).split())
    for generator in NAMES:
        if generator in written:
            return f"the page names the generator {generator}"
    for place, one in enumerate(passages, 1):
        for sentence in one.shown.texts:
            if sentence not in text:
                return f"{one.condition.name}, {sentences} sentences: “{sentence}” is not on the page"
        for field in fields:
            name = answer_field(field.name, place)
            given = html.fromstring(written).xpath(f"//input[@name='{name}']/@value")
            asked = sorted({answer[field.name] for answer in trial.answers(sentences)})
            if sorted(map(int, given)) != asked:
                return f"{sentences} sentences: the page offers {', '.join(given) or 'nothing'} for {name}"
    return None


def _study(trial: Trial) -> StudyFile:
    values = {
        "question": trial.name,
        "answers": dict(trial.values),
        "design": {"generators": NAMES, "control": NAMES[0], "human": NAMES[1]},
    }
    with_texts(values)
    return StudyFile.model_validate(values)


PAGES: dict[str, Rule] = {"words": words, "page": page}
