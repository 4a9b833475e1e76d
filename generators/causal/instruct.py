"""Instruct models: asked in words to fill the blanks of a text, they reply with a JSON list of what is
missing.

The model's own chat template is rendered in a sandbox. Its control tokens become ids; the request is only
text.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from generators.causal.causal_lm import CausalLM, find_model, open_causal_lm, token_named, whole_tokenizer
from generators.causal.writer import Decoding, Writer, too_long
from generators.checkpoints.weights import DAMAGED, first_line, positions
from generators.devices import pick_device
from generators.masks.spans import Granularity
from generators.options import read_options
from generators.sampling.decoding import Answer, Prompt, Rules, Written, draw
from generators.sampling.filling import Draft, ModelGenerator, Shared
from generators.sampling.prompts import BEGINNING, read_reply, request_for
from generators.sampling.replies import draft_of
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError
from humaneval.limits import read_whole

EXAMPLE = "HuggingFaceTB/SmolLM2-135M-Instruct"
TEMPLATE = "chat_template.jinja"
PLACE = "REQUEST-9f0c4e"
"""A placeholder for the request while the template is rendered; no template contains it."""
ASKED = 2
"""The most requests for a text, until a reply can be read."""
SECONDS = 30.0
"""A template is rendered in milliseconds. But it is a program: it may take for ever, or all memory."""

# No clock: a template with the date would make a different prompt every day.
_RENDER = """
import json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
except (ImportError, OSError, ValueError):
    pass
from jinja2.sandbox import ImmutableSandboxedEnvironment

def refuse(why):
    raise ValueError(why)

source, names, place = json.load(sys.stdin)
try:
    chat = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    chat.globals.update(raise_exception=refuse, **names)
    messages = [{"role": "user", "content": place}]
    said = chat.from_string(source).render(messages=messages, tools=None, add_generation_prompt=True)
    said = json.dumps([said, ""])
except Exception as error:
    said = json.dumps(["", (str(error).strip() or type(error).__name__)[:1000]])
print(said)
"""


@dataclass(frozen=True, slots=True)
class Options(Decoding):
    """The usual options; a reply is longer than an answer."""

    longest: int = 160


class Template(NamedTuple):
    """A chat's ids around the request."""

    before: list[int]
    after: list[int]


def open_template(folder: Path, opened: CausalLM) -> Template:
    """The ids around a request in the model's own template. Raises InputError if it has none or it cannot be
    rendered."""
    source = _source(folder, opened)
    if not isinstance(source, str):
        raise InputError(
            f"{opened.name} has no chat template: it is not an instruct model",
            f"Choose an instruct model such as {EXAMPLE}; a model that continues a text is of another kind"
            " (fim).",
        )

    shown = _rendered(source, opened)
    before, *after = shown.split(PLACE)
    if len(after) != 1:
        raise InputError(
            f"the chat template of {opened.name} shows a request {len(after)} times, not once",
            "Choose another instruct model.",
        )
    whole = whole_tokenizer(folder)
    return Template(*(list(whole.encode(part, add_special_tokens=False).ids) for part in (before, after[0])))


def _rendered(source: str, opened: CausalLM) -> str:
    """The template around `PLACE`, by a process that is ended where a template would not end."""
    names = {role: token_named(opened.settings, role) for role in ("bos_token", "eos_token")}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _RENDER],
            input=json.dumps([source, names, PLACE]),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        shown, fault = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        shown, fault = "", "it comes to no end"
    if fault:
        raise InputError(
            f"the chat template of {opened.name} cannot be rendered: {fault.splitlines()[0]}",
            "The template is part of the model: look for a newer copy of the model.",
        )
    return str(shown)


def _source(folder: Path, opened: CausalLM) -> Any:
    """The template in its own file, or in the tokenizer's settings; the default one if there are several."""
    file = folder / TEMPLATE
    if file.exists():
        try:
            return read_whole(file)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read: {first_line(error)}", DAMAGED) from None
    said = opened.settings.get("chat_template")
    if isinstance(said, list):
        named = [one for one in said if isinstance(one, dict) and one.get("name") == "default"]
        return named[0].get("template") if named else None
    return said


class Instruct(Writer):
    """Fills all gaps of a text with one reply."""

    kind = "instruct"
    conditioning = "all text on both sides, as a request in words; all blanks in one reply"
    several = True
    titled = False

    def __init__(self, opened: CausalLM, template: Template, seed: int, options: Options) -> None:
        super().__init__(opened.model, opened.tokenizer, seed, options)
        self.opened, self.template = opened, template
        # A template may close a turn with a token that the files do not name as an end token.
        closing = [id for id in template.after if id in opened.added][:1]
        ends = tuple(dict.fromkeys((*opened.ends, *closing)))
        self._rules = Rules(
            ends=ends,
            forbidden=tuple(sorted(opened.unwritten() - {*ends})),
            # The reply ends with its list.
            stop=lambda ids: read_reply(self.decode(ids)) is not None,
        )

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(Granularity)

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def origin(self) -> Provenance:
        opened = self.opened
        example = request_for(GappedText("", ("", ""), (Gap(),)))
        return self.made_by(f"{opened.name} sha256:{opened.sha256}", request=example, asked=ASKED)

    def prompt(self, text: GappedText) -> list[int]:
        """The ids of the chat around those of the request, which has no control tokens."""
        return [
            *self.template.before,
            *self.opened.read(request_for(text), inside=True),
            *self.template.after,
        ]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for each gap; if a reply cannot be read, the request is made once more."""
        most = positions(self.model)
        prompts = [self.prompt(text) for text in texts]
        found = [
            [too_long(len(ids), most)] * len(text.gaps) for ids, text in zip(prompts, texts, strict=True)
        ]
        waiting = [at for at, ids in enumerate(prompts) if len(ids) < most]
        begun = Answer(tuple(self.opened.read(BEGINNING, inside=True)), lines=True)
        for time in range(1, ASKED + 1):
            rows = [
                Prompt(prompts[at], keys[at] if time == 1 else f"{keys[at]} asked {time}", (begun,))
                for at in waiting
            ]
            drawn = draw(self.model, rows, self.rules, self.decoding, self.seed)
            for at, (written,) in zip(waiting, drawn, strict=True):
                found[at] = self._drafts(texts[at], written, time)
            waiting = [at for at in waiting if found[at][0].status is InfillStatus.ERROR]
        return found

    def _drafts(self, text: GappedText, written: Written, time: int) -> list[Draft]:
        reply = self.decode(written.ids)
        # Both are those of the whole reply: they belong to a filling only if it is the only one.
        extra: dict[str, Any] = {"asked": time}
        if len(text.gaps) == 1:
            extra |= {"tokens": len(written.ids), "logprob": round(sum(written.logprobs), 4)}
        answers = read_reply(reply, len(text.gaps))
        if answers is None:
            why = f"the reply is not a JSON list of {len(text.gaps)} string(s)"
            return [Draft("", InfillStatus.ERROR, why, {**extra, "reply": reply})] * len(text.gaps)
        return [draft_of(answer, text, at, extra) for at, answer in enumerate(answers)]


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: those of `generators.causal.writer.Decoding` and `generators.sampling.filling.Shared`."""
    shared = read_options(request, Shared, Options)
    options = read_options(request, Options, Shared)
    opened = open_causal_lm("instruct", request.checkpoint, pick_device(request.device), EXAMPLE)
    template = open_template(find_model("instruct", request.checkpoint, EXAMPLE), opened)
    name = request.name or f"instruct-{opened.name}"
    return [ModelGenerator(name, Instruct(opened, template, request.seed, options), request.seed, shared)]
