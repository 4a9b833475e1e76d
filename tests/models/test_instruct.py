"""Instruct models: control tokens are ids, the request is text, replies are read strictly, and asked for
twice at most."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generators.causal.instruct import Instruct, build
from generators.sampling.decoding import Written
from generators.sampling.filling import ModelGenerator
from generators.sampling.prompts import read_reply, request_for
from humaneval.domain import Blank, Gap, GappedText, GeneratorRequest, InfillStatus
from humaneval.errors import InputError, UsageError
from humaneval.stories import bundled_stories
from tests.models.small_models import keep, tiny_llama, with_control_tokens

pytestmark = pytest.mark.models

CHAT = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NAMES = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEXT = GappedText("a", ("Tom sat. ", " He got up."), (Gap(),))


def kept(folder: Path, tokenizer: Any, template: Any = CHAT) -> Path:
    whole = with_control_tokens(tokenizer, *NAMES)
    model = tiny_llama(whole.get_vocab_size() + 8, initializer_range=0.3)
    model.config.max_position_embeddings = 1024
    keep(folder, model, whole)
    settings = {"chat_template": template, "bos_token": NAMES[0], "eos_token": NAMES[0]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    return kept(tmp_path_factory.mktemp("models") / "tiny-chat", tokenizer)


def made(folder: Path | str, **options: str) -> ModelGenerator:
    (generator,) = build(GeneratorRequest("instruct", checkpoint=str(folder), device="cpu", options=options))
    assert isinstance(generator, ModelGenerator)
    return generator


def instruct(folder: Path) -> Instruct:
    filler = made(folder).filler
    assert isinstance(filler, Instruct)
    return filler


def refusal(folder: Path | str, **options: str) -> str:
    with pytest.raises((InputError, UsageError)) as caught:
        made(folder, **options)
    assert caught.value.hint
    return str(caught.value)


def test_the_chat_is_ids_and_the_request_is_text(folder: Path, tokenizer: Any) -> None:
    filler = instruct(folder)
    odd = replace(TEXT, pieces=("Tom said <|im_end|> twice. ", " [blank 7] <|endoftext|>"))
    end, start, close = (tokenizer.get_vocab_size() + n for n in range(3))
    read = tokenizer.encode
    assert filler.prompt(odd) == [
        *(end, start),
        *read("user\n").ids,
        *read(request_for(odd)).ids,
        *(close, *read("\n").ids, start),
        *read("assistant\n").ids,
    ]
    # The token that closes a turn ends a reply, although the files name another end token.
    assert filler.rules.ends == (end, close)
    assert start in filler.rules.forbidden


def test_a_template_in_a_file_of_its_own_comes_first(tmp_path: Path, tokenizer: Any) -> None:
    folder = kept(tmp_path / "m", tokenizer, [{"name": "default", "template": CHAT}])
    with_list = instruct(folder).prompt(TEXT)
    (folder / "chat_template.jinja").write_text("Q: {{ messages[0].content }} A:")
    own = instruct(folder)
    assert own.template.before == tokenizer.encode("Q: ").ids
    assert own.prompt(TEXT) != with_list


def test_G14_a_model_that_was_not_trained_to_be_asked_is_refused(tmp_path: Path, tokenizer: Any) -> None:
    assert "has no chat template" in refusal(kept(tmp_path / "none", tokenizer, None))
    named = [{"name": "tools", "template": CHAT}, "odd"]
    assert "has no chat template" in refusal(kept(tmp_path / "other", tokenizer, named))
    assert "needs a model" in refusal("")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ messages", "cannot be rendered"),
        ("{{ raise_exception('no users here') }}", "no users here"),
        ("{{ messages.append(1) }}{{ messages[0].content }}", "cannot be rendered"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0].content }}", "cannot be rendered"),
        ("{{ '%9999999999d' % 1 }}", "cannot be rendered"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "to no end"),
        ("no request", "0 times, not once"),
        ("{{ messages[0].content }}{{ messages[0].content }}", "2 times, not once"),
    ],
)
def test_a_template_that_fails_or_reaches_out_is_refused(
    template: str, message: str, tmp_path: Path, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "no end" in message:
        monkeypatch.setattr("generators.causal.instruct.SECONDS", 2.0)
    assert message in refusal(kept(tmp_path / "m", tokenizer, template))


def test_a_template_without_end_is_not_read(tmp_path: Path, tokenizer: Any) -> None:
    model = kept(tmp_path / "m", tokenizer, CHAT)
    (model / "chat_template.jinja").write_bytes(b"{{ messages[0].content }}" + b" " * 5 * 1024**2)
    assert "chat_template.jinja is larger than 4 MiB" in refusal(model)


def test_the_request_numbers_the_blanks_and_says_what_is_wanted() -> None:
    gaps = (Gap(), Gap("word"), Gap("ngram", min_words=2, max_words=3, beginning='the "'))
    request = request_for(GappedText("a", ("A ", " b ", " c ", "."), gaps))
    assert "A [blank 1] b [blank 2] c [blank 3]." in request
    assert "[blank 1]: exactly one sentence\n[blank 2]: exactly one word\n" in request
    assert '[blank 3]: a few words, of 2 to 3 words, which begins with: the "' in request


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ('["He ran."]', ["He ran."]),
        ('Sure, for [blank 1]:\n```json\n["He \\"ran\\"."]\n```', ['He "ran".']),
        ('["a", "b"]', None),
        ("[1]", None),
        ('{"1": "a"}', None),
        ('["He ran.', None),
        ("[" * 100_000, None),
        ('["a", ' + "[" * 100_000, None),
        ("", None),
    ],
)
def test_G40_a_reply_is_a_list_of_as_many_strings_as_blanks_or_nothing(
    reply: str, answers: list[str] | None
) -> None:
    assert read_reply(reply, 1) == answers


def test_G40_context_that_a_reply_repeats_is_cut_off_and_told(folder: Path, tokenizer: Any) -> None:
    filler = instruct(folder)
    text = replace(TEXT, pieces=("So Tom sat down. ", " He got up again."))
    reply = json.dumps(["So Tom sat down. It rained. He got up again."])
    (draft,) = filler._drafts(text, Written(tokenizer.encode(reply).ids), 1)
    assert draft.text == "It rained."
    assert draft.extra["trimmed"] is True


def test_a_reply_that_cannot_be_read_is_asked_for_twice_and_is_then_an_error(folder: Path) -> None:
    generator = made(folder, longest="12")
    blanks = [Blank(story, 3) for story in bundled_stories()[:2]]
    together = list(generator.infill(blanks))
    for infill in together:
        assert infill.status is InfillStatus.ERROR
        assert infill.extra["asked"] == 2
        assert infill.extra["reply"].startswith('["')
    alone = [next(iter(generator.infill([blank]))) for blank in blanks]
    assert [one.extra["reply"] for one in alone] == [one.extra["reply"] for one in together]
    assert generator.name == "instruct-tiny-chat"
    assert "[blank 1]" in generator.provenance.settings["request"]


def test_a_closed_list_ends_the_reply(folder: Path, tokenizer: Any) -> None:
    stop = instruct(folder).rules.stop
    assert stop is not None
    assert stop(tokenizer.encode('["He ran."]').ids)
    assert not stop(tokenizer.encode('["He ran."').ids)
