"""Documents masked in a second by one process, and what the masks are like; prints one JSON object a line.

    PYTHONPATH=. python benchmarks/masks.py [FOLDER with valid.csv] [--documents 2000] [--repeats 5]

Seconds are processor time of this one process; each figure is the median of the repeats. Without a folder the
stories that come with the toolkit are taken.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from generators.masks.distinct_masks import draw_masks
from generators.masks.documents import story_document
from generators.masks.hierarchical_mask import Hierarchical
from generators.masks.spans import Granularity
from generators.masks.words import word_spans
from humaneval.domain import Story
from humaneval.stories import bundled_stories, read_stories

MASKS = 16


def measured(stories: Sequence[Story]) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed, each over all stories."""
    documents = [story_document(story) for story in stories]
    hierarchical = Hierarchical()

    def words() -> None:
        for document in documents:
            for _, sentences in document.paragraphs:
                for sentence in sentences:
                    word_spans(document.text, *sentence)

    def trees() -> None:
        for story in stories:
            hierarchical.prepare(story_document(story))

    def masks(mask: Hierarchical) -> Callable[[], None]:
        def run() -> None:
            rng = random.Random(0)
            for story in stories:
                draw_masks(mask, story_document(story), MASKS, rng)

        return run

    yield "words alone", words
    yield "document and tree", trees
    yield f"{MASKS} unique masks, from the story", masks(hierarchical)
    yield f"{MASKS} unique masks, from the story, parity", masks(Hierarchical(parity=True))


def shares(stories: Sequence[Story]) -> dict[str, object]:
    """Spans an example, and in percent: characters masked, examples that mask the whole document, and
    nothing."""
    rng = random.Random(0)
    examples = spans = characters = masked = empty = 0
    types: Counter[str] = Counter()
    for story in stories:
        document = story_document(story)
        for mask in draw_masks(Hierarchical(), document, MASKS, rng):
            examples += 1
            spans += len(mask)
            empty += not mask
            characters += len(document.text)
            masked += sum(span.end - span.start for span in mask)
            types.update(span.type for span in mask)
    return {
        "examples": examples,
        "spans an example": round(spans / examples, 3),
        "characters masked, %": round(100 * masked / characters, 2),
        "document masks, %": round(100 * types[Granularity.DOCUMENT] / examples, 2),
        "empty masks, %": round(100 * empty / examples, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.folder:
        read: Sequence[Story] = read_stories(options.folder / "valid.csv").stories
    else:
        read = bundled_stories()
    stories = list(islice(cycle(read), options.documents))
    for what, run in measured(stories):
        seconds = []
        for _ in range(options.repeats):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
        rate = len(stories) / statistics.median(seconds)
        print(
            json.dumps(
                {
                    "figure": "documents a second",
                    "what": what,
                    "median": round(rate),
                    "best": round(len(stories) / min(seconds)),
                }
            )
        )
    print(json.dumps({"figure": "masks", **shares(read)}))


if __name__ == "__main__":
    main()
