"""Custom mask functions, and the two samples."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from generators.masks.distinct_masks import draw_masks
from generators.masks.documents import story_document, verse_document
from generators.masks.named import load_mask
from humaneval.errors import UsageError
from humaneval.stories import bundled_stories

SMALL = verse_document("a b\nc")

CUSTOM = """
class Vowels:
    types = ["vowel", "other_letter"]

    def mask(self, text, rng):
        yield "other_letter", text.index("b"), 1
        yield "vowel", 0, rng.randint(1, 1)

class Fixed:
    types = ("all",)

    def mask(self, text):
        return [("all", 0, len(text))]

class NeedsMore:
    types = ("a",)

    def __init__(self, path):
        self.path = path

class Twice(Fixed):
    types = ("a", "a")

class Capital(Fixed):
    types = ("a", "B-2")

class OneString(Fixed):
    types = "word"

class NoTypes(Fixed):
    types = ()

class NoMask:
    types = ("a",)

class MaskIsText(NoMask):
    mask = "a"

class ThreeArguments(NoMask):
    def mask(self, text, rng, more):
        return []

fixed = Fixed()
nothing = object()
"""


@pytest.fixture
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_masks.py").write_text(CUSTOM, encoding="utf-8")
    (tmp_path / "broken_masks.py").write_text("import no_such_package", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("own_masks", "broken_masks"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("_own_module")
def test_an_object_of_one_s_own_is_a_mask_function() -> None:
    vowels = load_mask("own_masks:Vowels")
    assert (vowels.name, vowels.types) == ("own_masks:Vowels", ("vowel", "other_letter"))
    masks = draw_masks(vowels, verse_document("a b"), 1, random.Random(0))
    assert masks == [(("vowel", 0, 1), ("other_letter", 2, 3))]
    for name in ("own_masks:Fixed", "own_masks:fixed"):
        assert draw_masks(load_mask(name), SMALL, 2, random.Random(0)) == [(("all", 0, 5),)]


@pytest.mark.usefixtures("_own_module")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sentences", "there is no mask function 'sentences'"),
        ("own_masks:", "there is no mask function 'own_masks:'"),
        ("no_such_module:Mask", "importing no_such_module failed: ModuleNotFoundError: No module named"),
        ("broken_masks:Mask", "importing broken_masks failed: ModuleNotFoundError: No module named"),
        ("own_masks:Vowel", "the module own_masks has no Vowel"),
        ("own_masks:nothing", "has no `types`"),
        ("own_masks:NoMask", "has no `mask`"),
        ("own_masks:MaskIsText", "has a `mask` that cannot be called"),
        (
            "own_masks:ThreeArguments",
            "takes neither a text and a random.Random nor a text: mask(text, rng, more)",
        ),
        ("own_masks:NeedsMore", "cannot be created without arguments"),
        ("own_masks:Twice", "has a type twice: a, a"),
        ("own_masks:Capital", "has a type with other characters than lower-case letters and _: 'B-2'"),
        ("own_masks:OneString", "has `types` that are not a list of names: 'word'"),
        ("own_masks:NoTypes", "has no types"),
    ],
)
def test_G03_a_mask_function_that_is_none_is_refused_in_one_line_with_a_hint(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_mask(name)
    assert message in caught.value.message
    assert name in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_the_sample_for_punctuation_masks_half_of_the_marks() -> None:
    mask = load_mask("generators.masks.samples:Punctuation")
    document = verse_document("No, “no”! Why?")
    draw = mask.prepare(document)
    rng = random.Random(0)
    seen = Counter((type, document.text[start:end]) for _ in range(1000) for type, start, end in draw(rng))
    terminal, other = mask.types
    assert set(seen) == {(other, ","), (other, "“"), (other, "”"), (terminal, "!"), (terminal, "?")}
    assert all(440 <= count <= 560 for count in seen.values())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("She met Tom Lee in New York.", ["Tom Lee", "New York"]),
        ("Tom left. He saw Tom's dog. “Maria?” he said. So I'm told.", ["Tom", "Tom"]),
        ("My title\nThen Mrs O'Brien and Jean-Luc came.", ["Mrs O'Brien", "Jean-Luc"]),
        ("", []),
    ],
)
def test_the_sample_for_proper_nouns_takes_capitals_that_do_not_open_a_sentence(
    text: str, names: list[str]
) -> None:
    (mask,) = draw_masks(
        load_mask("generators.masks.samples:ProperNouns"), verse_document(text), 1, random.Random(0)
    )
    assert [text[span.start : span.end] for span in mask] == names


def test_the_samples_draw_masks_that_can_be_used() -> None:
    drops: Counter[str] = Counter()
    for story in bundled_stories():
        for name in ("Punctuation", "ProperNouns"):
            assert draw_masks(
                load_mask(f"generators.masks.samples:{name}"),
                story_document(story),
                1,
                random.Random(0),
                drops,
            )
    assert not drops
