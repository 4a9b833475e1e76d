"""Where the toolkit runs: database, addresses, keys. One precedence: flag > environment > humaneval.toml > default.

What is studied stands in `study.toml` instead (see `humaneval.studies`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from humaneval.errors import SettingsError

CONFIG_FILE = "humaneval.toml"

ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "database": ("HUMANEVAL_DATABASE", "DATABASE_URL"),
    "public_url": ("HUMANEVAL_PUBLIC_URL",),
    "host": ("HUMANEVAL_HOST",),
    "port": ("HUMANEVAL_PORT",),
    "market_url": ("HUMANEVAL_MARKET_URL", "AWS_ENDPOINT_URL_MTURK"),
    "market_site": ("HUMANEVAL_MARKET_SITE",),
    "secret_key": ("HUMANEVAL_SECRET_KEY",),
    "aws_profile": ("HUMANEVAL_AWS_PROFILE", "AWS_PROFILE"),
    "trusted_proxies": ("HUMANEVAL_TRUSTED_PROXIES",),
}
"""Which environment variables set which setting, the first that is set wins."""

SECRETS = frozenset({"secret_key"})
"""Settings that are read from the environment only and never printed."""


class Settings(BaseModel):
    """Every setting of the place where the toolkit runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str = Field(
        "sqlite:///humaneval.db",
        description="Where stories, studies and responses are kept: a file name or a database URL.",
    )
    public_url: str = Field(
        "http://localhost:8730",
        description="The address under which annotators' browsers reach `humaneval serve`.",
    )
    host: str = Field("127.0.0.1", description="The address that `humaneval serve` listens on.")
    port: int = Field(8730, ge=0, le=65535, description="The port that `humaneval serve` listens on.")
    market_url: str = Field(
        "http://127.0.0.1:8731", description="The address of the marketplace that `--to local` publishes to."
    )
    market_site: str = Field(
        "", description="The marketplace's address as annotators' browsers see it; empty means `market_url`."
    )
    secret_key: str = Field(
        "", description="Signs the forms; empty means a key made once and kept in the database."
    )
    aws_profile: str = Field("", description="The AWS profile for `--to sandbox` and `--to production`.")
    trusted_proxies: int = Field(
        0, ge=0, le=5, description="How many reverse proxies in front of `humaneval serve` may be believed."
    )

    @field_validator("database")
    @classmethod
    def _database_url(cls, value: str) -> str:
        return database_url(value)

    @field_validator("public_url", "market_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("must be a web address such as https://study.example.org")
        return value.rstrip("/")

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: str) -> str:
        if value and len(value) < 16:
            raise ValueError("must have at least 16 characters")
        return value


class Origin(NamedTuple):
    """A setting as it stands, and where its value came from."""

    name: str
    value: str
    origin: str
    description: str


class Loaded(NamedTuple):
    """The settings together with the origin of each."""

    settings: Settings
    origins: tuple[Origin, ...]


def database_url(value: str) -> str:
    """A SQLAlchemy URL from what people write: a file name, `postgres://…`, `postgresql://…`."""
    for scheme in ("postgres://", "postgresql://"):
        if value.startswith(scheme):
            return "postgresql+psycopg://" + value.removeprefix(scheme)
    return value if "://" in value else f"sqlite:///{value}"


def load_settings(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Loaded:
    """Merge flags, environment and file over the defaults. Raises SettingsError naming the setting and its origin."""
    environment = os.environ if environment is None else environment
    file = Path(environment.get("HUMANEVAL_CONFIG", CONFIG_FILE)) if file is None else file
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for name, value in _from_file(file).items():
        values[name], origins[name] = value, f"file {file}"
    for name, variables in ENVIRONMENT.items():
        for variable in variables:
            if environment.get(variable):
                values[name], origins[name] = environment[variable], f"environment {variable}"
                break
    for name, value in (flags or {}).items():
        if value is not None:
            values[name], origins[name] = value, "flag"
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        reason = first["msg"].removeprefix("Value error, ")
        raise SettingsError(
            f"setting {name!r} (from {origins.get(name, 'default')}): {reason}",
            "`humaneval config show` lists every setting and where its value came from.",
        ) from None
    rows = (
        Origin(
            name,
            ("(set)" if getattr(settings, name) else "") if name in SECRETS else str(getattr(settings, name)),
            origins.get(name, "default"),
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    )
    return Loaded(settings, tuple(rows))


def _from_file(file: Path) -> dict[str, object]:
    if not file.exists():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file} is not valid TOML: {error}", "Mend the line, or make a new file with `humaneval init`."
        ) from None
    for name in values:
        if name in SECRETS:
            raise SettingsError(
                f"{file} sets {name!r}",
                f"Secrets are read from the environment only: set {ENVIRONMENT[name][0]}.",
            )
        if name not in Settings.model_fields:
            known = ", ".join(sorted(set(Settings.model_fields) - SECRETS))
            raise SettingsError(f"{file} has an unknown setting {name!r}", f"Known settings: {known}.")
    return values
