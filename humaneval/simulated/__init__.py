"""Simulated annotators: programs that use the real pages over HTTP, for rehearsals, demos and tests.

They get what an annotator sees, the served HTML, and a key. Their answers are marked as simulated. The
door is what this module exports.
"""

from humaneval.simulated.annotator import Crowd, Skills, crowd_for
from humaneval.simulated.links import follow_links
from humaneval.simulated.marketplace import work_through
from humaneval.simulated.prolific import take_part

__all__ = ["Crowd", "Skills", "crowd_for", "follow_links", "take_part", "work_through"]
