"""Models behind a server as generators: `chat` by conversation, `completions` by prompt and suffix."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Self

from generators.checkpoints.served import END, START, mark_of
from generators.endpoint.asking import Answers, open_answers
from generators.endpoint.client import Reply
from generators.endpoint.options import EndpointOptions
from generators.masks.documents import UNTITLED
from generators.options import read_options
from generators.sampling.filling import Draft, Filler, ModelGenerator, Shared
from generators.sampling.prompts import TYPES, WORDING, complaint, messages_for
from generators.sampling.replies import Choice, choice_of, draft_of, parse, usage_of
from humaneval.domain import Drawing, Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError, UsageError
from humaneval.text import command

CHAT, COMPLETIONS = "/chat/completions", "/completions"
FILTER = "content_filter"
UNENDED = "no end within max_tokens"
TRIAL = GappedText("trial", ("Tom was very hungry. ", " Then he went to bed."), (Gap(),))
"""What a chat model must be able to fill before it gets stories."""
TRIES = 3
"""The most tries of the trial: a model whose replies usually have the right form passes."""
CANARY = {
    "prompt": "Once upon a time there was a girl whose name was",
    "suffix": ". Everybody in the village liked Quillaby, and Quillaby liked everybody.",
    "max_tokens": 16,
    "temperature": 0,
}
MARKS = (START, END, *map(mark_of, TYPES))
"""The control tokens of our ILM checkpoints."""
BIRD = "Quillaby"
"""A name that a model can only write if it has read the suffix."""
NO_SUFFIX = (400, 404, 405, 413, 422, 501)
"""Statuses of servers that refuse `suffix` or have no /completions."""


@dataclass(frozen=True, slots=True)
class _Endpoint(ABC):
    """The part that both generators share."""

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

    def drawing(self, how: Drawing) -> Self:
        """The same model with this temperature and seed; a nucleus is not asked for."""
        options = replace(self.answers.options, temperature=how.temperature)
        return replace(self, answers=replace(self.answers, options=options, seed=how.seed))

    @property
    @abstractmethod
    def asks(self) -> str:
        """How it asks, with a hash of the wording if there is one."""

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """Draft a batch with several requests at a time, in the order of the texts."""
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
        """A draft for each gap, after a second try if the reply does not have the requested form."""
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
                    draft_of(answer, text, at, {**extra, **again}) for at, answer in enumerate(parsed.answers)
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
    """One gap at a time: the text before it as prompt, the text after it as suffix."""

    @property
    def asks(self) -> str:
        return "prompt and suffix"

    @property
    def types(self) -> tuple[str, ...]:
        # Nothing tells the model what to write, so a granularity is only reached by further tries.
        return TYPES

    @property
    def several(self) -> bool:
        return False

    def _one(self, text: GappedText, key: str) -> list[Draft]:
        options, gap = self.answers.options, text.gaps[0]
        body = {
            # The tokens of words include the space before them.
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
        draft = draft_of(gap.beginning + choice.text, text, 0, extra)
        if choice.finish == "length":
            draft = draft._replace(status=InfillStatus.CUT, detail=UNENDED)
        return [draft]


@dataclass(frozen=True, slots=True)
class MarkFiller(_Endpoint):
    """An ILM checkpoint of ours: the text with a control token for each gap, S, and the answers so far. There
    is one request for each gap."""

    @property
    def asks(self) -> str:
        return "text with the blanks of an ILM"

    @property
    def titled(self) -> bool:
        return True

    @property
    def heading(self) -> str:
        """The line above a text that has none: the server does not say what its model was trained on, and
        stories are what the toolkit is for."""
        return f"{UNTITLED}\n"

    @property
    def types(self) -> tuple[str, ...]:
        return TYPES

    @property
    def several(self) -> bool:
        return True

    def _one(self, text: GappedText, key: str) -> list[Draft]:
        whole = "".join((*text.pieces, *(gap.beginning for gap in text.gaps)))
        if spelt := [mark for mark in MARKS if mark in whole]:
            why = f"the text spells out a control token: {spelt[0]}"
            return [Draft("", InfillStatus.REFUSED, why)] * len(text.gaps)
        marked = (
            piece.rstrip(" ") + mark_of(gap.type) for piece, gap in zip(text.pieces, text.gaps, strict=False)
        )
        prompt = "".join((*marked, text.pieces[-1], START))
        drafts = []
        for number, gap in enumerate(text.gaps):
            space = " " if gap.beginning and text.pieces[number].endswith(" ") else ""
            prompt += space + gap.beginning
            draft = self._draft(prompt, f"{key} {number}" if number else key)
            drafts.append(draft._replace(text=gap.beginning + draft.text))
            prompt += draft.text + END
        return drafts

    def _draft(self, prompt: str, key: str) -> Draft:
        reply = self._ask(prompt, key)
        choice = choice_of(reply.values)
        if reply.status != 200 or choice is None:
            return _refused(reply)
        extra = {} if choice.tokens is None else {"tokens": choice.tokens}
        answer = choice.text.split(END)[0]
        if any(mark in answer for mark in MARKS):
            return Draft("", InfillStatus.FILTERED, "a control token in the answer", extra)
        if choice.finish == "length":
            return Draft(answer, InfillStatus.CUT, UNENDED, extra)
        return Draft(answer, extra=extra)

    def _ask(self, prompt: str, key: str) -> Reply:
        options = self.answers.options
        body = {
            "prompt": prompt,
            "stop": [END],
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        return self.answers.ask(COMPLETIONS, body, key)


def build_chat(request: GeneratorRequest) -> Sequence[Generator]:
    """An instruct model that replies in the requested form. Options: EndpointOptions, and those of every
    model."""
    shared, answers = _open(request)
    return [_generator(request, shared, ChatFiller("chat", answers, _try_chat(answers)))]


def build_completions(request: GeneratorRequest) -> Sequence[Generator]:
    """A model that writes between prompt and suffix, and reads both; or an ILM of ours. Options: as for
    `build_chat`."""
    shared, answers = _open(request)
    if answers.options.layout == "ilm":
        return [_generator(request, shared, MarkFiller("completions", answers, _try_marks(answers)))]
    return [_generator(request, shared, SuffixFiller("completions", answers, _try_suffix(answers)))]


def _open(request: GeneratorRequest) -> tuple[Shared, Answers]:
    shared = read_options(request, Shared, EndpointOptions)
    options = read_options(request, EndpointOptions, Shared)
    if request.checkpoint:
        raise UsageError(
            f"{request.kind} takes no checkpoint", "Name the model as the server does: --option model=NAME."
        )
    return shared, open_answers(options, request.seed)


def _generator(request: GeneratorRequest, shared: Shared, filler: Filler) -> ModelGenerator:
    return ModelGenerator(request.name or request.kind, filler, request.seed, shared)


def _try_chat(answers: Answers) -> dict[str, str]:
    """What the server reports of itself, after the model has filled a test blank. Raises InputError if it
    cannot."""
    filler = ChatFiller("chat", answers)
    for number in range(1, TRIES + 1):
        key = f"trial {number}"
        (draft,) = filler._one(TRIAL, key)
        if draft.status is InfillStatus.OK:
            return _reported(filler._ask(messages_for(TRIAL), key))  # from the cache
    raise InputError(
        f"{answers.options.model} at {answers.endpoint} cannot be used: {draft.detail}",
        "Choose an instruct model (--option model=…); max_tokens=… and limit_field=… change how much it may"
        " write.",
    )


def _try_suffix(answers: Answers) -> dict[str, str]:
    """What the server reports of itself, after a test that it reads `suffix`. Raises InputError if it does
    not."""
    reply = answers.ask(COMPLETIONS, CANARY, "canary", NO_SUFFIX)
    choice = choice_of(reply.values)
    if reply.status == 200 and choice is not None and BIRD in choice.text:
        return _reported(reply)
    why = "ignores suffix" if reply.status == 200 else f"refuses suffix ({reply.status})"
    raise InputError(
        f"{answers.endpoint} {why}: {answers.options.model} would not see what follows the blank",
        "Use --generator chat, or a server whose /completions reads `suffix`.",
    )


def _try_marks(answers: Answers) -> dict[str, str]:
    """What the server reports of itself, after a test that control tokens are single tokens for it. Raises
    InputError if they are not."""
    reply = MarkFiller("completions", answers)._ask("".join(MARKS), "marks")
    if reply.status != 200 or choice_of(reply.values) is None:
        raise InputError(
            f"{answers.endpoint} answers {reply.status}: {reply.words or 'no completion'}",
            "layout=ilm needs a server with /completions.",
        )
    read = usage_of(reply.values, "prompt_tokens")
    if read is None or read > len(MARKS) + 1:
        why = "does not say how many tokens it reads" if read is None else f"reads {MARKS[0]} as text"
        raise InputError(
            f"{answers.options.model} at {answers.endpoint} {why}",
            f"Serve the whole folder that `{command('train', 'ilm', '--out', 'FOLDER')}` wrote.",
        )
    return _reported(reply)


def _reported(reply: Reply) -> dict[str, str]:
    """What the server reports of itself: the full name of the model, and its configuration."""
    names = {"model": "model", "system_fingerprint": "server"}
    values: dict[str, Any] = reply.values
    return {name: values[found] for found, name in names.items() if isinstance(values.get(found), str)}


def _withheld(choice: Choice) -> Draft | None:
    """The draft for an answer that the model or the server's filter refused."""
    if choice.refusal or choice.finish == FILTER:
        return Draft("", InfillStatus.REFUSED, choice.refusal[:200] or "the server's content filter")
    return None


def _refused(reply: Reply) -> Draft:
    """The draft for a request that the server refused: for the content or length of the text, or for another
    reason."""
    status = InfillStatus.REFUSED if reply.refuses_text else InfillStatus.ERROR
    return Draft("", status, f"the server answers {reply.status}: {reply.words or 'no words'}")
