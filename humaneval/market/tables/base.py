"""The base of the marketplace's tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    MetaData,
    Text,
)
from sqlalchemy.orm import DeclarativeBase

from humaneval.store.types import NAMING, Moment


class MarketTable(DeclarativeBase):
    """The base of the marketplace's tables; they share no metadata with the toolkit's own."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - the name and form are SQLAlchemy's
        str: Text(),
        datetime: Moment(),
        list[Any]: JSON(),
        dict[str, Any]: JSON(none_as_null=True),
    }
