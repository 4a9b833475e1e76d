"""Opens a generator for notebooks and scripts: `load("ilm", checkpoint="ilm").fill("Anna left. ____")`."""

from __future__ import annotations

from dataclasses import dataclass

from humaneval.domain import Drawing, FillsText
from humaneval.free_text import Candidate, fill_text
from humaneval.kinds import open_filler


@dataclass(frozen=True, slots=True)
class Loaded:
    """An opened generator that fills the blanks of any text."""

    generator: FillsText

    @property
    def types(self) -> tuple[str, ...]:
        """The types of blanks that it fills."""
        return self.generator.types

    def fill(
        self, text: str, samples: int = 1, *, seed: int = 0, temperature: float = 1.0, nucleus: float = 0.95
    ) -> tuple[Candidate, ...]:
        """`samples` candidates for a text whose blanks are marked as `humaneval.free_text` says.

        A candidate has the whole `text`, its `fillings`, and natural logarithms of probabilities: of each
        filling, and of all together. These are of the untempered model: temperature and nucleus do not change
        them. The same seed gives the same candidates again. Raises UsageError for a text without a blank, and
        for a blank of a type that the generator does not fill.
        """
        return fill_text(self.generator, text, samples, Drawing(seed, temperature, nucleus))


def load(
    kind: str = "", checkpoint: str = "", *, device: str = "auto", **options: str | float | bool
) -> Loaded:
    """The generator of a `kind`, for example ilm, over a checkpoint's folder. The model stays open.

    Without a kind, the checkpoint tells it. `options` are those of `generate --option`. Raises UsageError for
    a kind that fills only stories, and InputError if the checkpoint cannot be opened.
    """
    told = {name: _told(value) for name, value in options.items()}
    return Loaded(open_filler(kind, checkpoint, device=device, options=told))


def _told(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
