"""The texts that a command line names: --stories, --documents or --bundled."""

from __future__ import annotations

from typing import Any

from generators.training.corpus import Split, Texts, bundled_texts, folder_texts, held_out, story_texts
from humaneval.errors import UsageError


def corpus_named(given: dict[str, Any], purpose: str) -> str:
    """The kind of corpus: `stories`, or what --corpus says of a folder.

    UsageError unless exactly one source is named. `purpose` is what the texts are for: "train on".
    """
    sources = [name for name in ("stories", "documents", "bundled") if given[name]]
    if len(sources) != 1:
        raise UsageError(
            f"name what to {purpose}", "Give one of --stories FILE, --documents FOLDER and --bundled."
        )
    if sources == ["documents"]:
        return given["corpus"] or "texts"
    if given["corpus"]:
        raise UsageError("--corpus goes with --documents", "--stories and --bundled are stories.")
    return "stories"


def split_named(given: dict[str, Any], corpus: str) -> Split:
    """The texts to train on, and those to validate on."""
    skip_bad = given["skip_bad"]
    if given["valid"] and not given["stories"]:
        raise UsageError("--valid goes with --stories", "Other sources bring their own validation texts.")
    if given["bundled"]:
        return Split(bundled_texts("train"), bundled_texts("valid"))
    if given["documents"]:
        return Split(
            *(
                folder_texts(given["documents"], name, corpus, skip_bad=skip_bad)
                for name in ("train", "valid")
            )
        )
    stories = story_texts(given["stories"], skip_bad=skip_bad)
    if given["valid"]:
        return Split(stories, story_texts(given["valid"], skip_bad=skip_bad))
    return held_out(stories)


def texts_named(given: dict[str, Any], corpus: str) -> Texts:
    """The texts to score on: those of --split in a folder."""
    if given["documents"]:
        return folder_texts(given["documents"], given["split"], corpus, skip_bad=given["skip_bad"])
    if given["bundled"]:
        return bundled_texts("test")
    return story_texts(given["stories"], skip_bad=given["skip_bad"])
