"""Read and check story files: good records become stories, bad ones are reported with file, line and reason.

This module is the door."""

from humaneval.stories.headings import parse_mapping
from humaneval.stories.reading import bundled_stories, read_stories
from humaneval.stories.result import Problem, Reading

__all__ = ["Problem", "Reading", "bundled_stories", "parse_mapping", "read_stories"]
