"""Models behind a server as generators: by conversation (`chat`), or by prompt and suffix where the server
has that."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from generators.endpoint.asking import Answers, open_answers
from generators.endpoint.client import Reply
from generators.endpoint.options import EndpointOptions
from generators.options import read_options
from generators.sampling.filling import Draft, Filler, ModelGenerator, Shared
from generators.sampling.prompts import TYPES, WORDING, complaint, messages_for
from generators.sampling.replies import Choice, choice_of, clean, parse
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError, UsageError

CHAT, COMPLETIONS = "/chat/completions", "/completions"
FILTER = "content_filter"
UNENDED = "no end within max_tokens"
TRIAL = GappedText("trial", ("Tom was very hungry. ", " Then he went to bed."), (Gap(),))
"""What a chat model must be able to do before it is given stories."""
TRIES = 3
"""Draws of the trial: a model whose form is right most of the time passes."""
CANARY = {
    "prompt": "Once upon a time there was a girl whose name was",
    "suffix": ". Everybody in the village liked Quillaby, and Quillaby liked everybody.",
    "max_tokens": 16,
    "temperature": 0,
}
BIRD = "Quillaby"
"""A name that nobody finds who has not read the suffix."""
NO_SUFFIX = (400, 404, 405, 413, 422, 501)
"""Statuses of servers that refuse `suffix` or have no /completions at all."""


@dataclass(frozen=True, slots=True)
class _Endpoint(ABC):
    """What both ways of asking share."""

    kind: str
    answers: Answers
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def titled(self) -> bool:
        return False

    @property
    def needs_original(self) -> bool:
        return False

    @property
    def origin(self) -> Provenance:
        options = self.answers.options
        settings = {
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
            "send_seed": options.send_seed,
            "asks": self.asks,
        }
        return Provenance(
            kind=self.kind,
            checkpoint=f"{self.answers.endpoint} {options.model}",
            settings=settings,
            batch={"parallel": options.parallel, "date": f"{datetime.now(UTC):%Y-%m-%d}"},
            versions={"urllib3": version("urllib3"), **self.versions},
        )

    @property
    @abstractmethod
    def asks(self) -> str:
        """How it asks, in a word, with a hash of the wording if it has one."""

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """Drafts of a batch, several requests at a time, in the order of the texts."""
        with ThreadPoolExecutor(self.answers.options.parallel) as pool:
            return list(pool.map(self._one, texts, keys))

    @abstractmethod
    def _one(self, text: GappedText, key: str) -> list[Draft]:
        """The drafts for one text."""


@dataclass(frozen=True, slots=True)
class ChatFiller(_Endpoint):
    """All gaps of a text in one conversation."""

    @property
    def asks(self) -> str:
        return f"conversation {hashlib.sha256(WORDING.encode()).hexdigest()[:12]}"

    @property
    def types(self) -> tuple[str, ...]:
        return TYPES

    @property
    def several(self) -> bool:
        return True

    def _one(self, text: GappedText, key: str) -> list[Draft]:
        """A draft a gap; where the reply is not in the form asked for, after one more try."""
        count = len(text.gaps)
        messages = messages_for(text)
        for second_try in (False, True):
            reply = self._ask(messages, f"{key} again" if second_try else key)
            choice = choice_of(reply.values)
            if reply.status != 200 or choice is None:
                return [_refused(reply)] * count
            if refused := _withheld(choice):
                return [refused] * count
            parsed = parse(choice.text, count)
            if not parsed.fault:
                extra = {"tokens": choice.tokens} if count == 1 and choice.tokens is not None else {}
                again = {"second_try": True} if second_try else {}
                return [
                    _cleaned(answer, text, at, {**extra, **again}) for at, answer in enumerate(parsed.answers)
                ]
            if choice.finish == "length":
                return [Draft("", InfillStatus.CUT, UNENDED)] * count
            messages = complaint(messages, choice.text, parsed.fault, count)
        return [Draft("", InfillStatus.ERROR, f"the reply cannot be used: {parsed.fault}")] * count

    def _ask(self, messages: list[dict[str, str]], key: str) -> Reply:
        options = self.answers.options
        body = {
            "messages": messages,
            "temperature": options.temperature,
            options.limit_field: options.max_tokens,
        }
        return self.answers.ask(CHAT, body, key)


@dataclass(frozen=True, slots=True)
class SuffixFiller(_Endpoint):
    """One gap at a time: the text before as prompt, the text behind as suffix."""

    @property
    def asks(self) -> str:
        return "prompt and suffix"

    @property
    def types(self) -> tuple[str, ...]:
        # Nothing tells the model what it should write, so no granularity can be promised but by what is drawn
        # anew.
        return TYPES

    @property
    def several(self) -> bool:
        return False

    def _one(self, text: GappedText, key: str) -> list[Draft]:
        options, gap = self.answers.options, text.gaps[0]
        body = {
            # Tokens of words bring the space before them along.
            "prompt": (text.pieces[0] + gap.beginning).rstrip(" "),
            "suffix": text.pieces[1],
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        reply = self.answers.ask(COMPLETIONS, body, key)
        choice = choice_of(reply.values)
        if reply.status != 200 or choice is None:
            return [_refused(reply)]
        extra = {} if choice.tokens is None else {"tokens": choice.tokens}
        if refused := _withheld(choice):
            return [refused]
        draft = _cleaned(gap.beginning + choice.text, text, 0, extra)
        if choice.finish == "length":
            draft = draft._replace(status=InfillStatus.CUT, detail=UNENDED)
        return [draft]


def build_chat(request: GeneratorRequest) -> Sequence[Generator]:
    """An instruct model that has shown that it replies in the form asked for. Options: EndpointOptions, every
    model's."""
    shared, answers = _open(request)
    return [_generator(request, shared, ChatFiller("chat", answers, _try_chat(answers)))]


def build_completions(request: GeneratorRequest) -> Sequence[Generator]:
    """A model that writes between prompt and suffix, and has shown that it reads both."""
    shared, answers = _open(request)
    return [_generator(request, shared, SuffixFiller("completions", answers, _try_suffix(answers)))]


def _open(request: GeneratorRequest) -> tuple[Shared, Answers]:
    shared = read_options(request, Shared, EndpointOptions)
    options = read_options(request, EndpointOptions, Shared)
    if request.checkpoint:
        raise UsageError(
            f"{request.kind} reads no checkpoint", "Name the model as the server does: --option model=NAME."
        )
    return shared, open_answers(options, request.seed)


def _generator(request: GeneratorRequest, shared: Shared, filler: Filler) -> ModelGenerator:
    return ModelGenerator(request.name or request.kind, filler, request.seed, shared)


def _try_chat(answers: Answers) -> dict[str, str]:
    """What the server says it is, once the model has filled a blank of ours. InputError where it cannot."""
    filler = ChatFiller("chat", answers)
    for number in range(1, TRIES + 1):
        key = f"trial {number}"
        (draft,) = filler._one(TRIAL, key)
        if draft.status is InfillStatus.OK:
            return _reported(filler._ask(messages_for(TRIAL), key))  # of the cache
    raise InputError(
        f"{answers.options.model} at {answers.endpoint} cannot be used: {draft.detail}",
        "Choose an instruct model (--option model=…); max_tokens=… and limit_field=… change how much it may"
        " write.",
    )


def _try_suffix(answers: Answers) -> dict[str, str]:
    """What the server says it is, once it has shown that it reads `suffix`. InputError where it does not."""
    reply = answers.ask(COMPLETIONS, CANARY, "canary", NO_SUFFIX)
    choice = choice_of(reply.values)
    if reply.status == 200 and choice is not None and BIRD in choice.text:
        return _reported(reply)
    why = "ignores suffix" if reply.status == 200 else f"refuses suffix ({reply.status})"
    raise InputError(
        f"{answers.endpoint} {why}: {answers.options.model} would not see what follows the blank",
        "Use --generator chat, or a server whose /completions reads `suffix`.",
    )


def _reported(reply: Reply) -> dict[str, str]:
    """What the server says it is: the dated name behind a model's short one, and its configuration."""
    names = {"model": "model", "system_fingerprint": "server"}
    values: dict[str, Any] = reply.values
    return {name: values[found] for found, name in names.items() if isinstance(values.get(found), str)}


def _cleaned(answer: str, text: GappedText, at: int, extra: dict[str, Any]) -> Draft:
    gap = text.gaps[at]
    # What an answer has to begin with may well stand before it, too.
    before = "" if gap.beginning else text.pieces[at]
    cleaned = clean(answer, before, text.pieces[at + 1])
    return Draft(cleaned.text, extra={**extra, **cleaned.flags})


def _withheld(choice: Choice) -> Draft | None:
    """The draft for an answer that the model or the server's filter refuses to give."""
    if choice.refusal or choice.finish == FILTER:
        return Draft("", InfillStatus.REFUSED, choice.refusal[:200] or "the server's content filter")
    return None


def _refused(reply: Reply) -> Draft:
    """A request that the server did not want: for what the text says or how long it is, or for another
    reason."""
    status = InfillStatus.REFUSED if reply.refuses_text else InfillStatus.ERROR
    return Draft("", status, f"the server answers {reply.status}: {reply.words or 'no words'}")
