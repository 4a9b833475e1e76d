"""The consent as people read it, with version and hash: other words, pay or channels give another hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from humaneval.study.file import StudyFile
from humaneval.study.words import Channel, words_of
from humaneval.text import command

CHANNELS: Sequence[Channel] = get_args(Channel)


@dataclass(frozen=True, slots=True)
class Consent:
    """A text that people who come by one channel agree to."""

    version: str
    channel: Channel
    language: str
    text: str

    @property
    def hash(self) -> str:
        """SHA-256 over all of it, in hexadecimal digits."""
        parts = [self.version, self.channel, self.language, self.text]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def consent_of(study: StudyFile, channel: Channel) -> Consent:
    """The consent of `study` for people who come by `channel`: what the page says, with its contact.

    `study` has the settings as these people read them: see `StudyFile.by_link`.
    """
    words = words_of(study, channel)
    lines = [line.strip() for line in words.consent(study, channel).splitlines() if line.strip()]
    if study.consent.contact:
        lines.append(words.plain("contact", contact=study.consent.contact))
    return Consent(
        study.consent.version, channel, study.page.language, "\n".join([*lines, words.plain("agree")])
    )


def no_contact(study: StudyFile) -> str:
    """A line on what follows if the study names no contact, and how to name one; empty if it does."""
    if study.consent.contact:
        return ""
    return (
        "No contact is set: the consent sends people to those who invited them. To name one: contact under"
        f" [consent] in a study file. `{command('init')}` writes one; give it with --file study.toml."
    )
