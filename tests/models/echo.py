"""A corpus in which one sentence follows from the others: a model that fills it exactly has read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from generators.masks.documents import Document, story_document
from generators.masks.spans import Draw, Granularity
from humaneval.domain import Blank, Generator, Story
from tests.masks import sentence_mask

NAMES = ("Ann", "Bob", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jan", "Kim", "Lea")
PETS = ("cat", "dog", "fox", "goat", "hen", "owl", "pig", "rat", "yak", "mule")
TOWNS = ("Rome", "Bern", "Oslo", "Nice", "Graz", "York", "Lima", "Kyiv")


def echo_stories(seed: int = 0) -> tuple[list[Story], list[Story]]:
    """Stories to train on, and 200 others of names, pets and towns in combinations that no story before has.

    The first sentence is determined by the later ones, which name the same; the fifth by the first and the
    others.
    """
    combinations = list(product(NAMES, PETS, TOWNS))
    Random(seed).shuffle(combinations)
    stories = [_story(number, *combination) for number, combination in enumerate(combinations)]
    return stories[200:], stories[:200]


def _story(number: int, name: str, pet: str, town: str) -> Story:
    sentences = (
        f"{name} had a {pet} in {town}.",
        f"The {pet} was old.",
        f"It rained in {town}.",
        f"{name} went for a walk.",
        f"{name} saw the {pet} in {town}.",
    )
    return Story(f"echo {number}", sentences, title="A Walk")


class OneSentence:
    """A mask function that masks one sentence of a story, always the same one."""

    types = tuple(Granularity)

    def __init__(self, position: int) -> None:
        self.position, self.name = position, f"sentence {position}"

    def prepare(self, document: Document) -> Draw:
        return lambda rng: sentence_mask(document, self.position)


def documents(stories: Sequence[Story]) -> list[Document]:
    return [story_document(story) for story in stories]


def exact(generator: Generator, stories: Sequence[Story], position: int) -> float:
    """The share of the stories whose sentence at `position` is filled exactly."""
    blanks = [Blank(story, position) for story in stories]
    return sum(infill.text == infill.blank.original for infill in generator.infill(blanks)) / len(blanks)
