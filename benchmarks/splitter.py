"""How well running text is cut into sentences, beside other splitters; prints one JSON object a line.

    PYTHONPATH=. python benchmarks/splitter.py [FOLDER with valid.csv and test.csv]

The five sentences of each story are joined and have to come apart as five, and each pair of neighbours as
two; each sentence alone has to stay one. Quotations are sentences of our own, each of which is one. `settled`
is the share of stories that come apart as five if doubtful places may be settled by the number that is wanted
(as `stories import` does), `doubtful` the share of single sentences that would be listed for a person.

sentencex, which cut the sentences before, is compared if it is installed. Without a folder the stories that
come with the toolkit are taken.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from humaneval.domain import SENTENCES
from humaneval.stories import bundled_stories, read_stories
from humaneval.text import doubts, split_into, split_sentences

Splitter = Callable[[str], Sequence[str]]

QUOTATIONS = (
    '"Stop!" he cried.',
    "“Stop!” he cried.",
    "'Stop!' he cried.",
    '"Stop!" Tom cried.',
    '"Are you ill?" his mother asked.',
    "“Why?” asked Tom.",
    '"Why are you here?" the old man asked.',
    '"Stop! Now!" she yelled.',
    'He said, "I am tired. Let us go home."',
    'She yelled "Help!" and ran.',
    "The sign said “Closed.” in red letters.",
    '"Who is it?" whispered Ann.',
)
_PLAIN = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)]))\s+(?=[\"'“‘(\[]*[A-Z0-9])")


def splitters() -> Iterator[tuple[str, Splitter]]:
    """Each splitter with its name."""
    yield "ours", split_sentences
    if find_spec("punkt") is not None:
        yield "Punkt alone", import_module("punkt").sent_tokenize
    if find_spec("sentencex") is not None:
        segment = import_module("sentencex").segment
        yield "sentencex", lambda text: [one for one in segment("en", text) if one.strip()]
    yield "a plain pattern", _PLAIN.split


def share(found: Sequence[bool]) -> float:
    """The share of true ones, in percent."""
    return round(100 * sum(found) / len(found), 2)


def measured(stories: Sequence[Sequence[str]]) -> Iterator[dict[str, object]]:
    """A line for each splitter, ours first."""
    joined = [" ".join(story) for story in stories]
    pairs = [" ".join(pair) for story in stories for pair in pairwise(story)]
    alone = [sentence for story in stories for sentence in story]
    for name, split in splitters():
        began = time.process_time()
        five = [len(split(text)) == SENTENCES for text in joined]
        seconds = time.process_time() - began
        line: dict[str, object] = {
            "splitter": name,
            "stories": len(stories),
            "five": share(five),
            "pairs": share([len(split(text)) == 2 for text in pairs]),
            "alone": share([len(split(text)) == 1 for text in alone]),
            "quotations": share([len(split(text)) == 1 for text in QUOTATIONS]),
            "ms_per_story": round(1000 * seconds / len(stories), 3),
        }
        if split is split_sentences:
            line["settled"] = share(
                [len(split_into(SENTENCES, text).sentences) == SENTENCES for text in joined]
            )
            line["doubtful"] = share([bool(doubts(text)) for text in alone])
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="folder with valid.csv and test.csv")
    folder = parser.parse_args().folder
    files = [folder / "valid.csv", folder / "test.csv"] if folder else []
    read = [story for file in files for story in read_stories(file).stories] or bundled_stories()
    for line in measured([story.sentences for story in read]):
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
