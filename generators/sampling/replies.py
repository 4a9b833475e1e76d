"""What is in a server's reply: its text, why it ended, and the answers without what does not belong to
them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from generators.sampling.filling import Draft
from generators.sampling.prompts import TASK, WANTED
from humaneval.domain import GappedText, InfillStatus
from humaneval.text import normalise, sentence_spans, split_sentences

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL)
_LABEL = re.compile(
    r"\A(?:[\[({<*]*(?:blank|gap|answer|missing \w+)\b[ #]*\d*[\])}>*]*[:.)-]\s*"
    r"|[\[{<]+(?:blank|gap|answer)\b[ #]*\d*[\]}>]+\s+"
    r"|\d{1,2}\)\s+"
    r"|(?:(?:sure|certainly|okay|of course)[!,.]\s+)?(?:here(?:['’]s| is)\s+)?(?:the|your|a)\s+"
    r"(?:missing|new|filled|completed?)\s+\w+:\s+"
    r"|(?:(?:sure|certainly|okay|of course)[!,.]\s+)here(?:['’]s| is)\s+(?:the|your|a|one)\s+\w+:\s+)",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "“": "”", "«": "»", "„": "“", "'": "'", "‘": "’"}


class Choice(NamedTuple):
    """What the model wrote, and why it ended."""

    text: str
    finish: str
    refusal: str
    tokens: int | None
    """The number of tokens it wrote, if the server counts them."""


def choice_of(values: Any) -> Choice | None:
    """The first choice in a reply of /chat/completions or /completions; None if it is not such a reply."""
    try:
        choice = values["choices"][0]
        said = choice.get("message", choice)
        text = said["content"] if "message" in choice else said["text"]
        refusal, finish = said.get("refusal") or "", choice.get("finish_reason") or ""
    except (AttributeError, IndexError, KeyError, TypeError):
        return None
    if text is not None and not isinstance(text, str):
        return None
    return Choice(text or "", str(finish), str(refusal), usage_of(values, "completion_tokens"))


def usage_of(values: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens in a reply, if it is there."""
    usage = values.get("usage")
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and found >= 0 else None


class Parsed(NamedTuple):
    """The answers in a reply, or the fault of the reply."""

    answers: list[str]
    fault: str = ""


def parse(text: str, count: int) -> Parsed:
    """The `count` answers in a reply: a JSON list of strings, or an object with only such a list as `blanks`.

    >>> parse('{"blanks": ["It rained."]}', 1).answers
    ['It rained.']
    >>> parse("It rained.", 1).fault
    'not JSON'
    """
    text = _THOUGHTS.sub("", text).strip()
    if fenced := _FENCE.match(text):
        text = fenced[1]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Parsed([], "not JSON")
    if isinstance(found, dict) and list(found) == ["blanks"]:
        found = found["blanks"]
    if not isinstance(found, list) or not all(isinstance(answer, str) for answer in found):
        return Parsed([], "not a list of strings")
    if len(found) != count:
        return Parsed([], f"{len(found)} strings, not {count}")
    return Parsed(found)


class Cleaned(NamedTuple):
    """An answer, and which of `unlabelled`, `unquoted` and `trimmed` was done to it."""

    text: str
    flags: dict[str, bool]


def clean(answer: str, before: str, after: str) -> Cleaned:
    """An answer without its label, its surrounding quotes, and the sentences of `before` and `after` that it
    repeats.

    >>> clean('Blank 1: "He left. It rained."', "He left. ", " Sun.")
    Cleaned(text='It rained.', flags={'unlabelled': True, 'unquoted': True, 'trimmed': True})
    """
    bare = answer.strip()
    unlabelled = _LABEL.sub("", bare)
    unquoted = _unquoted(unlabelled)
    trimmed = trim(unquoted, before, after)
    done = {
        "unlabelled": unlabelled != bare,
        "unquoted": unquoted != unlabelled,
        "trimmed": trimmed != unquoted,
    }
    return Cleaned(trimmed, {flag: True for flag, is_done in done.items() if is_done})


_PLACEHOLDER = re.compile(
    r"[\W_]*(?:(?:the )?(?:blank|gap|answer|string|text|missing(?: \w+)?|sentence|paragraph|word)s?)?"
    r"[\W_]*\d*[\W_]*",
    re.IGNORECASE,
)
"""A mark or a number of the request, and nothing besides."""
_MARK = re.compile(r"[\W_]*blank[\W_]*\d+[\W_]*|[\[({<]+\w+ ?\d*[\])}>]+|[\W_]+|\d+[.)]", re.IGNORECASE)
"""The same, where the answer may be a word."""
_BRACKETED = re.compile(r"[\[{<]+[^][{}<>]*[]}>]+[.:]?")
"""A mark of any request: [MASK], [one sentence]."""
_NOTHING = frozenset(("none", "null", "nan", "n a", "todo", "tbd", "output", "placeholder"))
_NAMED = "blank blanks gap gaps sentence sentences string strings json mask masked placeholder"
_NAMES = frozenset(_NAMED.split())
_AROUND = (
    "a an the one two three exactly only your first second third last next of in for with and or is that this"
    " what here there missing fill insert write reply put list answer answers text word words"
)
_OF_A_REQUEST = _NAMES | frozenset(_AROUND.split())
"""The words of a request; a sentence that has no others and one of `_NAMES` answers none."""
_NO_WORDS = re.compile(r"\S*[/\\_|<>{}=@#]\S*|\S+\.\w+\S*")
"""A path, an address, a key: characters without white space that no sentence consists of."""


def no_answer(answer: str, text: GappedText, at: int) -> str:
    """Why a cleaned answer is no answer to gap `at` of `text`; empty if it may be one.

    >>> from humaneval.domain import Gap
    >>> story = GappedText("s", ("He left. She stayed at home. ", ""), (Gap(),))
    >>> [no_answer(words, story, 0) for words in ("blank 1", "She stayed at home.", "It rained.")]
    ['a mark of the request', 'a copy of a sentence of the text', '']
    """
    answer, whole = normalise(answer), text.gaps[at].type in ("sentence", "paragraph", "document")
    if not answer:
        return ""
    if (_PLACEHOLDER if whole else _MARK).fullmatch(answer) or _plain(answer) in _REQUESTED:
        return "a mark of the request"
    if not whole:
        return ""
    words = _plain(answer).split()
    told = not _NAMES.isdisjoint(words) and all(word in _OF_A_REQUEST or word.isdigit() for word in words)
    if (
        told
        or _BRACKETED.fullmatch(answer)
        or _plain(answer) in _NOTHING
        or words == ["your", "answer", "here"]
    ):
        return "a mark of the request"
    if _NO_WORDS.fullmatch(answer):
        return "no sentence"
    known = {_plain(sentence) for piece in text.pieces for sentence in split_sentences(normalise(piece))}
    said = [_plain(sentence) for sentence in split_sentences(answer)]
    if all(sentence in known for sentence in said) and len(_plain(answer).split()) > 2:
        return "a copy of a sentence of the text" if len(said) == 1 else "a copy of sentences of the text"
    return ""


def _plain(text: str) -> str:
    """`text` without case and punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


_REQUESTED = frozenset(_plain(line) for line in (*WANTED.values(), *split_sentences(TASK)))
"""The sentences of the request itself."""


def draft_of(answer: str, text: GappedText, at: int, extra: Mapping[str, Any]) -> Draft:
    """The draft that an answer to gap `at` of `text` makes: cleaned, and filtered if it is no answer."""
    # The beginning of an answer may also occur before it.
    before = "" if text.gaps[at].beginning else text.pieces[at]
    cleaned = clean(answer, before, text.pieces[at + 1])
    extra = {**extra, **cleaned.flags}
    if fault := no_answer(answer, text, at) or no_answer(cleaned.text, text, at):
        return Draft(cleaned.text, InfillStatus.FILTERED, fault, extra)
    return Draft(cleaned.text, extra=extra)


def _unquoted(text: str) -> str:
    """`text` without one pair of quotes around all of it."""
    inside = text[1:-1]
    closing = _QUOTES.get(text[:1])
    if len(text) > 2 and closing == text[-1] and closing not in inside and text[0] not in inside:
        return inside.strip()
    return text


def trim(answer: str, before: str, after: str) -> str:
    """`answer` without whole sentences that it repeats: the end of `before` at its start, the start of
    `after` at its end.

    An answer that is nothing but a repeat stays; its status is decided elsewhere.
    """
    before, after = normalise(before), normalise(after)
    for start, _ in sentence_spans(before):  # the longest repeat first
        repeated = before[start:]
        rest = answer[len(repeated) :]
        if (
            answer.startswith(repeated)
            and rest.strip()
            and not (repeated[-1].isalnum() and rest[0].isalnum())
        ):
            answer = rest.strip()
            break
    for _, end in reversed(sentence_spans(after)):
        repeated = after[:end]
        rest = answer[: -len(repeated)]
        if answer.endswith(repeated) and rest.strip() and not (repeated[0].isalnum() and rest[-1].isalnum()):
            return rest.strip()
    return answer
