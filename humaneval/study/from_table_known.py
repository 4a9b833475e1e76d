"""Stories that a table may name: those of a second file, or those that were imported before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from humaneval.domain import Story
from humaneval.text import as_read, listed


class Known:
    """Known stories, found by id, by their text, or by four of their sentences."""

    def __init__(self, stories: Sequence[Story]) -> None:
        self.stories = stories
        self._by_id = {story.id: story for story in stories}

    def named(self, name: str) -> Story | None:
        """The story with this id; an id that is a number may have gained a point."""
        found = self._by_id.get(name) or self._by_id.get(name.removesuffix(".0"))
        return found and self._by_sentences[found.sentences]

    def same(self, story: Story) -> Story | None:
        """The story with exactly these sentences."""
        return self._by_sentences.get(story.sentences)

    def around(self, sentences: Sequence[str], position: int) -> Story | None:
        """The only story that has these sentences around a position; None if there is none, or several."""
        found = self._by_rest.get(_rest(sentences, position), [])
        return found[0] if len(found) == 1 else None

    def examples(self) -> str:
        """Some ids, for a message."""
        return f"; there are {listed([story.id for story in self.stories], 3)}" if self.stories else ""

    @cached_property
    def _by_sentences(self) -> dict[tuple[str, ...], Story]:
        return {story.sentences: story for story in reversed(self.stories)}

    @cached_property
    def _by_rest(self) -> dict[str, list[Story]]:
        found: dict[str, list[Story]] = {}
        for story in self.stories:
            for position in range(1, len(story.sentences) + 1):
                same = found.setdefault(_rest(story.sentences, position), [])
                if not any(one.sentences == story.sentences for one in same):
                    same.append(story)
        return found


def _rest(sentences: Sequence[str], position: int) -> str:
    """What is read around a position."""
    return f"{position} {as_read([*sentences[: position - 1], ' ', *sentences[position:]])}"
