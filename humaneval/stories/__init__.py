"""Read and check story files: what is sound comes back as stories, what is not with file, line and reason."""

from humaneval.stories.headings import parse_mapping
from humaneval.stories.reading import bundled_stories, read_stories
from humaneval.stories.result import Problem, Reading

__all__ = ["Problem", "Reading", "bundled_stories", "parse_mapping", "read_stories"]
