"""The rules for questions: the four keep them, and each broken one fails by the name of its rule."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from humaneval.conformance import tried
from humaneval.crowd.question_rules import PAGES
from humaneval.domain import Role
from humaneval.resources import bundled
from humaneval.scoring.questions import question
from humaneval.scoring.questions.conformance import RULES, Trial
from humaneval.scoring.questions.detect import Detect
from humaneval.scoring.questions.question import (
    CHOICE,
    AnswerField,
    Condition,
    Figure,
    Question,
    Scale,
    ShownPassage,
    load_question,
)

TRIED = {
    "detect": {},
    "prefer": {"ties": True},
    "rate": {"scales": {"fit": ["bad", "good"], "fluency": ["a", "b", "c", "d"]}, "points": 4},
    "boundary": {},
}


def broken(question: Question, name: str = "detect", values: dict | None = None) -> list[str]:
    return [one.rule for one in tried(Trial(name, question, values or {}), RULES) if one.wrong]


@pytest.mark.parametrize("name", TRIED)
def test_the_four_questions_keep_every_rule(name: str) -> None:
    assert broken(load_question(name), name) == []
    assert broken(load_question(name), name, TRIED[name]) == []


class Nameless(Detect):
    summary = "One line\nand another"


class TakesAnySetting(Detect):
    def settings(self, values):
        return dict(values)


class TwoOfOneName(Detect):
    def conditions(self, generators, control, human, settings):
        return tuple(
            Condition("one", (name,), Role.CONTROL if name == control else Role.SYSTEM) for name in generators
        )


class NoControl(Detect):
    def conditions(self, generators, control, human, settings):
        return tuple(Condition(name, (name,)) for name in generators)


class TakesOutTooMuch(Detect):
    def positions(self, sentences):
        return (sentences, sentences + 1)


class LosesASentence(Detect):
    def show(self, story, position, texts, role):
        return ShownPassage(story, position)


class GrowsAStory(Detect):
    def show(self, story, position, texts, role):
        return ShownPassage((*story, texts[0]), position)


class FieldOfTheTable(Detect):
    def fields(self, settings, sentences):
        return (AnswerField(CHOICE, sentences), AnswerField("worker", 3))


class TakesAnything(Detect):
    def complete(self, answer, settings, sentences):
        return True


class NobodyPasses(Detect):
    def obvious(self, truth, settings):
        return {CHOICE: (99,)}


class NoTitle(Detect):
    def scales(self, settings, sentences):
        return (Scale("", 0, 1, "", "it is better", binary=True),)


class OffTheScale(Detect):
    def outcomes(self, truth, answer, scale, settings):
        return (2.0,)


class HalfOfOne(Detect):
    def outcomes(self, truth, answer, scale, settings):
        return (0.5,)


class ChanceOffTheScale(Detect):
    def chance(self, settings, sentences, scale=""):
        return Figure(80.0, "percent")


class DrawsByItself(Detect):
    def simulate(self, rng, truth, skills, careless, settings):
        return {CHOICE: Random().randrange(1, truth.sentences + 1)}


class SaysAnotherScore(Detect):
    def true_score(self, generator, skills, settings, sentences, scale=""):
        return 0.5


class NoFolder(Detect):
    @property
    def folder(self):
        return Path("nowhere")


class Raises(Detect):
    def outcomes(self, truth, answer, scale, settings):
        raise KeyError("worth")


BROKEN = [
    (Nameless, {"name"}),
    (TakesAnySetting, {"settings"}),
    (TwoOfOneName, {"conditions"}),
    (NoControl, {"conditions"}),
    (TakesOutTooMuch, {"positions"}),
    (LosesASentence, {"passages"}),
    (GrowsAStory, {"passages"}),
    (FieldOfTheTable, {"fields"}),
    (TakesAnything, {"complete"}),
    (NobodyPasses, {"obvious"}),
    (NoTitle, {"scales"}),
    (OffTheScale, {"outcomes"}),
    (HalfOfOne, {"outcomes"}),
    (ChanceOffTheScale, {"chance"}),
    (DrawsByItself, {"simulated"}),
    (SaysAnotherScore, {"true_score"}),
    (NoFolder, {"templates"}),
    (Raises, {"outcomes", "true_score"}),
]


@pytest.mark.parametrize(("question", "rules"), BROKEN)
def test_a_broken_question_fails_by_the_name_of_its_rule(question: type[Question], rules: set[str]) -> None:
    assert rules <= set(broken(question()))


def test_every_rule_is_broken_by_a_question_here() -> None:
    assert set().union(*(rules for _, rules in BROKEN)) == set(RULES)


def test_an_answer_is_a_mapping_of_its_fields() -> None:
    assert Trial("detect", Detect(), {}).answers(3) == [{CHOICE: 1}, {CHOICE: 2}, {CHOICE: 3}]


PASSAGE = (bundled("hit_templates/detect") / "passage.html").read_text(encoding="utf-8")
ONE = PASSAGE.replace("{% for sentence in shown.sentences %}", "{% for sentence in shown.sentences[1:] %}")
TWICE = PASSAGE.replace("{% endfor %}", '{% endfor %}<input type="radio" name="choice-1" value="1">')
MUTE = PASSAGE.replace("{{ sentence }}", "")
TELLS = PASSAGE.replace("{% for", "{{ study.design.generators|join }}{% for", 1)


@pytest.mark.parametrize(
    ("passage", "lost", "rules", "said"),
    [
        (PASSAGE, "", set(), ""),
        (PASSAGE, "missing_story", {"words"}, "words/en.toml has no missing_story"),
        (PASSAGE, "example_2", {"words", "page"}, "words/en.toml has no example_2"),
        (ONE, "", {"page"}, "the page offers 1, 2 for choice-1"),
        (MUTE, "", {"page"}, "is not on the page"),
        (TWICE, "", {"page"}, "the page offers 1, 2, 3, 1, 1, 1"),
        (TELLS, "", {"page"}, "the page names the generator secret-control"),
        ("{% macro asked(shown, own, look) %}{{ nothing }}{% endmacro %}", "", {"page"}, "is undefined"),
    ],
)
def test_pages_and_words_that_lack_something_fail_by_the_name_of_their_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passage: str, lost: str, rules: set[str], said: str
) -> None:
    name = f"broken_{tmp_path.name}".lower()
    words = (bundled("hit_templates/detect") / "words" / "en.toml").read_text(encoding="utf-8")
    (tmp_path / "words").mkdir()
    kept = re.sub(rf"^{lost} = .*\n", "", words, flags=re.MULTILINE) if lost else words
    (tmp_path / "words" / "en.toml").write_text(kept, encoding="utf-8")
    (tmp_path / "passage.html").write_text(passage, encoding="utf-8")
    made = type("Broken", (Detect,), {"name": name, "folder": tmp_path})()
    monkeypatch.setitem(globals(), "made", lambda: made)
    monkeypatch.setitem(question._OURS, name, f"{__name__}:made")
    found = {one.rule: one.wrong for one in tried(Trial(name, made, {}), {**RULES, **PAGES}) if one.wrong}
    assert found.keys() == rules
    assert said in " ".join(found.values())
