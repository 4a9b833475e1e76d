"""Read and check story files: good records become stories, bad ones are reported with file, line and reason.

This module is the door."""

from humaneval.stories.fields import count_trouble
from humaneval.stories.headings import parse_mapping
from humaneval.stories.reading import bundled_stories, checked, read_stories
from humaneval.stories.result import Problem, Reading, Record

__all__ = [
    "Problem",
    "Reading",
    "Record",
    "bundled_stories",
    "checked",
    "count_trouble",
    "parse_mapping",
    "read_stories",
]
