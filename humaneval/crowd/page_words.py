"""Words on a page as HTML: escaped, and marked with their language where it is not the page's."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from humaneval.resources import words_in
from humaneval.study.words import ENGLISH, SETTINGS, Words, filled_in, right_to_left


def isolated(text: str) -> Markup:
    """A text of unknown direction within a sentence."""
    return Markup("<bdi>{}</bdi>").format(text)


@dataclass(frozen=True, slots=True)
class PageWords:
    """What templates call `words`."""

    words: Words
    study_language: str
    """The language in which the study's own texts are."""

    def __call__(self, key: str, **values: object) -> Markup:
        """The text of `key`. Values are escaped, unless they are Markup."""
        told = {name: escape(value) for name, value in self.words.in_language(key, values).items()}
        text = filled_in(str(escape(self.words.plain(key))), told)
        return self._marked(Markup(text), self.words.language_of(key))  # both parts are escaped

    def plain(self, key: str, **values: object) -> str:
        """The same as plain text: for titles and attributes, where no language can be marked."""
        return self.words.plain(key, **values)

    def own(self, text: str, whole: str = "") -> Markup:
        """A text of the study file, or a line of its `whole`. Our own English ones are marked as such."""
        english = {words_in(ENGLISH, question=self.words.question)[key].strip() for key in SETTINGS}
        ours = (whole or text).strip() in english
        return self._marked(escape(text), ENGLISH if ours else self.study_language)

    @property
    def language(self) -> str:
        """The language of the page."""
        return self.words.language

    def direction(self, language: str) -> str:
        """The value of `dir` for `language`."""
        return "rtl" if right_to_left(language) else "ltr"

    def _marked(self, text: Markup, language: str) -> Markup:
        if language == self.language:
            return text
        return Markup('<span lang="{}" dir="{}">{}</span>').format(language, self.direction(language), text)
