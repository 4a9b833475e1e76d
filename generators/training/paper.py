"""The perplexities in the paper, which `perplexity --table` prints beside the new ones."""

from __future__ import annotations

from typing import NamedTuple

STRATEGIES = ("lm", "lm-rev", "lm-all", "ilm")
CORPORA = ("stories", "abstracts", "lyrics")
TABLES = {"document": 3, "mixture": 4, "paragraph": 5, "sentence": 6, "ngram": 7, "word": 8}
"""The number of the paper's table for each granularity; Table 1 is the pre-trained half of Table 6."""

LENGTHS = {"lm": 1.00, "lm-rev": 1.00, "lm-all": 1.81, "ilm": 1.01}
"""The last column of Table 1: tokens of an example of the sentence test on stories, as a multiple of those of
LM."""


class Key(NamedTuple):
    """One cell of the paper's tables."""

    granularity: str
    strategy: str
    scratch: bool
    corpus: str


# For each granularity: LM, LM-Rev, LM-All and ILM from scratch, then the same from the pre-trained model,
# each for stories/abstracts/lyrics.
_VALUES = {
    "document": (
        "33.4/52.1/25.1 32.9/53.9/24.7 30.4/44.6/26.2 30.8/45.3/30.6 17.6/25.7/20.8 25.1/36.7/23.7"
        " 17.8/25.2/21.5 18.1/23.9/23.0"
    ),
    "mixture": (
        "34.0/52.8/28.9 34.9/59.3/30.4 27.0/46.2/24.3 25.5/46.0/27.5 17.5/25.5/23.9 26.5/39.0/29.2"
        " 15.1/24.4/19.3 14.9/23.5/20.2"
    ),
    "paragraph": (
        "35.6/51.5/25.1 34.8/65.1/24.7 33.4/45.0/26.2 34.3/45.3/30.6 18.3/24.2/20.8 26.5/42.8/23.7"
        " 20.4/23.4/21.5 20.7/22.5/23.0"
    ),
    "sentence": (
        "36.0/65.4/33.5 35.1/92.2/35.8 27.1/53.8/27.1 26.7/51.0/31.0 18.3/27.9/27.7 27.1/46.5/34.3"
        " 15.6/22.3/21.4 15.6/22.4/22.6"
    ),
    "ngram": (
        "36.1/62.5/34.1 36.4/89.1/36.3 26.4/60.1/24.3 23.1/49.5/26.3 19.2/25.5/28.2 26.6/45.0/34.8"
        " 14.5/20.5/18.6 13.8/21.5/18.8"
    ),
    "word": (
        "32.3/57.2/34.8 31.6/100.0/36.7 12.6/51.8/12.5 9.2/37.9/12.2 17.1/23.0/28.7 24.1/45.0/35.1"
        " 7.5/15.8/9.5 5.4/14.2/8.5"
    ),
}

PUBLISHED = {
    Key(granularity, STRATEGIES[number % 4], number < 4, corpus): float(value)
    for granularity, row in _VALUES.items()
    for number, cell in enumerate(row.split())
    for corpus, value in zip(CORPORA, cell.split("/"), strict=True)
}
"""Perplexity of masked text, per token of GPT-2's vocabulary."""
