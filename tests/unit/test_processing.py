"""Shared processing of infills, and systems matched in length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from humaneval.domain import Blank, Infill, InfillStatus, Provenance, Story
from humaneval.errors import UsageError
from humaneval.infills.generate import configuration_hash
from humaneval.infills.processing import STEPS, LengthMatched, Processed, process, steps_of
from humaneval.stories import bundled_stories

STORY = Story(
    "s", ("Anna came home.", "She was tired.", "The cat slept.", "It rained all day.", "Anna smiled.")
)
BLANK = Blank(STORY, 3)


@pytest.mark.parametrize(
    ("step", "written", "wanted"),
    [
        ("labels", "Sentence 3: The dog ran.", "The dog ran."),
        ("labels", "Answer: The dog ran.", "The dog ran."),
        ("labels", '"The dog ran."', "The dog ran."),
        ("labels", '"Run," she said.', '"Run," she said.'),
        ("labels", "The answer: she ran.", "The answer: she ran."),
        ("repeats", "She was tired. The dog ran.", "The dog ran."),
        ("repeats", "The dog ran. It rained all day. So.", "The dog ran."),
        ("repeats", "The dog ran.", "The dog ran."),
        ("spaces", "She did n't go , did she ?", "She didn't go, did she?"),
        ("spaces", "She did n ' t say it 's fine .", "She didn't say it's fine."),
        ("spaces", "Wait ... no.", "Wait ... no."),
        ("sentence", "The dog ran. The cat hid.", "The dog ran."),
        ("sentence", "Mr. Smith ran.", "Mr. Smith ran."),
        ("capital", "then i ran.", "Then I ran."),
        ("capital", '"so what," i said.', '"So what," I said.'),
        ("stop", "The dog ran", "The dog ran."),
        ("stop", "The dog ran,", "The dog ran."),
        ("stop", "Did it?", "Did it?"),
        ("stop", '"It did."', '"It did."'),
    ],
)
def test_each_step_does_one_thing(step: str, written: str, wanted: str) -> None:
    assert STEPS[step](written, BLANK) == wanted
    assert STEPS[step](wanted, BLANK) == wanted


FRENCH = Story(
    "f", ("Le chat est là.", "Il dort dans la rue.", "« Viens ! » dit Anne.", "Il ne vient pas.", "Fin.")
)
CHINESE = Story("z", ("他来了。", "她走了。", "天下雨了。", "他们回家。", "很好。"))
POLISH = Story("p", ("To był Jan.", "On i ona to nie to.", "Nie ma go w domu.", "Jest zima.", "Koniec."))


@pytest.mark.parametrize(
    ("story", "step", "written", "wanted"),
    [
        (FRENCH, "spaces", "Viens ! dit-elle .", "Viens ! dit-elle."),
        (FRENCH, "stop", "« Viens ! »", "« Viens ! »"),
        (CHINESE, "stop", "他走了。", "他走了。"),
        (CHINESE, "stop", "他走了", "他走了。"),
        (POLISH, "capital", "on i ona.", "On i ona."),
    ],
)
def test_X20_each_step_follows_the_language_of_the_story(
    story: Story, step: str, written: str, wanted: str
) -> None:
    assert STEPS[step](written, Blank(story, 3)) == wanted


@pytest.mark.parametrize("position", [1, 2, 3, 4, 5])
def test_what_people_write_is_left_as_it_is(position: int) -> None:
    """All steps over every sentence of the bundled stories: hardly one changes, and none in more than its
    form."""
    changed = []
    for story in bundled_stories():
        blank = Blank(story, position)
        found = process(Infill(blank, blank.original), tuple(STEPS))
        if found.text != blank.original:
            changed.append((blank.original, found.text))
    assert len(changed) <= 2, changed


def test_steps_are_named_in_one_order_and_misspelt_ones_refused() -> None:
    assert steps_of("stop, labels") == ("labels", "stop")
    assert steps_of("all") == tuple(STEPS)
    with pytest.raises(UsageError, match="there is no processing step 'stopp'"):
        steps_of("stopp")
    with pytest.raises(UsageError, match="no processing step is named"):
        steps_of(" , ")


@dataclass
class Words:
    """Writes 1, 2, 3, … words for its samples."""

    name: str = "words"
    provenance: Provenance = field(default_factory=lambda: Provenance("words"))

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            status = InfillStatus.CUT if blank.sample % 7 == 0 else InfillStatus.OK
            yield Infill(blank, " ".join(["word"] * blank.sample), status)


def test_processing_is_part_of_what_a_generator_is_and_keeps_what_was_written() -> None:
    plain, processed = Words(), Processed(Words(), ("capital", "stop"))
    assert configuration_hash(plain.provenance) != configuration_hash(processed.provenance)
    (infill,) = processed.infill([Blank(STORY, 3, 2)])
    assert (infill.text, infill.extra["raw"]) == ("Word word.", "word word")
    assert processed.provenance.settings["processing"] == ["capital", "stop"]
    (cut,) = processed.infill([Blank(STORY, 3, 7)])
    assert (cut.status, cut.text.startswith("word")) == (InfillStatus.CUT, True)


def test_several_sentences_become_one_where_that_is_asked_for() -> None:
    written = Infill(BLANK, "The dog ran. It hid.", InfillStatus.SEVERAL_SENTENCES, "2 sentences")
    assert process(written, ("sentence",)) == Infill(
        BLANK, "The dog ran.", extra={"raw": "The dog ran. It hid."}
    )
    assert process(written, ("stop",)) == written


def test_lengths_are_those_of_people() -> None:
    stories = bundled_stories()
    matched = LengthMatched(Words(), 30, stories)
    blanks = [Blank(story, 2) for story in stories[:100]]
    infills = list(matched.infill(iter(blanks)))
    assert [infill.blank for infill in infills] == blanks
    assert all(infill.status is InfillStatus.OK for infill in infills)
    lengths = [len(infill.text.split()) for infill in infills]
    assert all(abs(a - matched.target(blank)) <= 1 for a, blank in zip(lengths, blanks, strict=True))
    people = [len(story.sentences[1].split()) for story in stories]
    assert abs(sum(lengths) / 100 - sum(people) / len(people)) < 1.5
    assert all(infill.extra["words_wanted"] for infill in infills)


def test_the_length_of_the_sentence_that_was_taken_out_is_not_looked_at() -> None:
    matched = LengthMatched(Words(), 30, bundled_stories())
    blank = Blank(bundled_stories()[0], 3)
    longer = Story(blank.story.id, blank.filled("A sentence that is very much longer than it was before."))
    assert [i.text for i in matched.infill([blank])] == [i.text for i in matched.infill([Blank(longer, 3)])]


def test_samples_of_a_blank_have_draws_of_their_own() -> None:
    asked: list[int] = []

    class Watched(Words):
        def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
            for blank in blanks:
                asked.append(blank.sample)
                yield Infill(blank, "word")

    list(LengthMatched(Watched(), 3, (STORY,)).infill([Blank(STORY, 1, 1), Blank(STORY, 1, 2)]))
    assert asked == [1, 2, 3, 4, 5, 6]
