"""Simulated annotators: programs that go through the real pages over HTTP, for rehearsals, demos and tests.

They are given what an annotator sees, the served HTML, and a key; what they answer is marked as simulated.
"""

from humaneval.simulated.annotator import Crowd, Skills
from humaneval.simulated.links import follow_links
from humaneval.simulated.marketplace import work_through

__all__ = ["Crowd", "Skills", "follow_links", "work_through"]
