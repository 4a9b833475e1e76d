"""Settings of the place where the toolkit runs: database, addresses, keys.

Precedence: flag > environment > humaneval.toml > addresses that `up` keeps in the database > default. A study
file says what is studied instead (see `humaneval.study.file`).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from humaneval.encodings import read_toml
from humaneval.errors import SettingsError
from humaneval.limits import read_whole
from humaneval.text import command, without_password

CONFIG_FILE = "humaneval.toml"

ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "database": ("HUMANEVAL_DATABASE", "DATABASE_URL"),
    "public_url": ("HUMANEVAL_PUBLIC_URL",),
    "host": ("HUMANEVAL_HOST",),
    "port": ("HUMANEVAL_PORT",),
    "market_url": ("HUMANEVAL_MARKET_URL", "AWS_ENDPOINT_URL_MTURK"),
    "market_site": ("HUMANEVAL_MARKET_SITE",),
    "market_keys": ("HUMANEVAL_MARKET_KEYS",),
    "secret_key": ("HUMANEVAL_SECRET_KEY",),
    "aws_profile": ("HUMANEVAL_AWS_PROFILE", "AWS_PROFILE"),
    "prolific_url": ("PROLIFIC_URL",),
    "prolific_project": ("PROLIFIC_PROJECT",),
    "prolific_token": ("PROLIFIC_TOKEN",),
    "trusted_proxies": ("HUMANEVAL_TRUSTED_PROXIES",),
    "open_forms_per_address": ("HUMANEVAL_OPEN_FORMS_PER_ADDRESS",),
    "panel_secret": ("HUMANEVAL_PANEL_SECRET",),
}
"""Setting → environment variables that set it. The first that is set wins."""

SECRETS = frozenset({"market_keys", "panel_secret", "prolific_token", "secret_key"})
"""Settings that are read only from the environment and never printed."""

DEFAULT, KEPT = "default", "database, as `up` served it"
"""Two of the origins of a setting."""

OTHER_VARIABLES = ("HUMANEVAL_CONFIG", "HUMANEVAL_ENDPOINT_", "HUMANEVAL_TEST_")
"""Variables, or prefixes of them, that are not settings: the file's name, and what only the tests read."""


def _has_a_host(parts: SplitResult) -> bool:
    try:
        return bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:  # no port, or none that there is; or a name with nothing between two dots
        return False


EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""An address that means all of this machine, and one of them that can be called."""


class Settings(BaseModel):
    """Every setting of the place where the toolkit runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database: str = Field(
        "sqlite:///humaneval.db",
        description="Database for stories, studies and responses: a file name or a URL.",
    )
    public_url: str = Field(
        "http://127.0.0.1:8730",
        description="The address at which annotators' browsers reach `humaneval serve`.",
    )
    host: str = Field("127.0.0.1", description="The address that `humaneval serve` listens on.")
    port: int = Field(8730, ge=0, le=65535, description="The port that `humaneval serve` listens on.")
    market_url: str = Field(
        "http://127.0.0.1:8731", description="The address of the marketplace that `--to local` publishes to."
    )
    market_site: str = Field(
        "", description="The marketplace's address as annotators' browsers see it; empty means `market_url`."
    )
    market_keys: str = Field(
        "",
        description=(
            "Access keys of the marketplace, ID:SECRET, separated by spaces. The marketplace accepts any;"
            " `--to local` signs with the first."
        ),
    )
    secret_key: str = Field(
        "", description="Key that signs the forms; empty means a random key, stored in the database."
    )
    aws_profile: str = Field("", description="The AWS profile for `--to sandbox` and `--to production`.")
    prolific_url: str = Field(
        "https://api.prolific.com", description="The address of the API that `--to prolific` calls."
    )
    prolific_project: str = Field("", description="The id of the Prolific project for new studies.")
    prolific_token: str = Field(
        "", description="The token of a researcher's Prolific account; it has all of the account's rights."
    )
    trusted_proxies: int = Field(
        0,
        ge=0,
        le=5,
        description="Number of trusted reverse proxies in front of `humaneval serve` and the marketplace.",
    )
    open_forms_per_address: int = Field(
        100,
        ge=1,
        le=1_000_000,
        description="Number of forms that people at one network address may have begun and not sent: by link,"
        " while Prolific does not answer, or at the marketplace by names that they registered themselves.",
    )

    panel_secret: str = Field(
        "", description="The panel's secret, for codes and postbacks of people who come by link."
    )

    @field_validator("port", "trusted_proxies", "open_forms_per_address", mode="before")
    @classmethod
    def _no_truth_value(cls, value: object) -> object:
        if isinstance(value, bool):  # pydantic would read it as 1 or 0
            raise ValueError("must be a whole number")
        return value

    @field_validator("database")
    @classmethod
    def _database_url(cls, value: str) -> str:
        url = database_url(value)
        if not re.match(r"sqlite:///.|postgresql\+psycopg://", url):
            raise ValueError("must be the name of an SQLite file or a postgresql:// URL")
        if not url.startswith("sqlite"):
            _ = urlsplit(url).port  # ValueError for a host or a port that is none
        return url

    @field_validator("public_url", "market_url", "market_site", "prolific_url")
    @classmethod
    def _web_address(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.field_name == "market_site":
            return value
        parts = urlsplit(value)
        # Paths are added at its end. urlsplit leaves out line ends and tabs.
        if re.search(r"[\s?#@]", value) or parts.scheme not in ("http", "https") or not _has_a_host(parts):
            raise ValueError("must be a web address such as https://study.example.org")
        return value.rstrip("/")

    @field_validator("market_keys")
    @classmethod
    def _pairs(cls, value: str) -> str:
        if not all(":" in pair for pair in value.split()):
            raise ValueError("must be ID:SECRET pairs, separated by spaces")
        return value

    @field_validator("prolific_token", "prolific_project")
    @classmethod
    def _one_word(cls, value: str) -> str:
        value = value.strip()
        if not re.fullmatch(r"[!-~]*", value):
            raise ValueError("must be one word of printable characters")
        return value

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: str) -> str:
        if value and len(value) < 16:
            raise ValueError("must have at least 16 characters")
        return value


def config_text() -> str:
    """A humaneval.toml with every setting explained, commented out and at its default."""
    lines = [
        "# Where the toolkit runs. Precedence: flag > environment > this file > default.",
        "# `humaneval config show` says where each value came from.",
        "",
    ]
    for name, field in Settings.model_fields.items():
        variable = ENVIRONMENT[name][0]
        if name in SECRETS:
            lines += [f"# {name}: from the environment only: {variable}. {field.description}", ""]
            continue
        value = f'"{field.default}"' if isinstance(field.default, str) else field.default
        lines += [f"# {field.description} ({variable})", f"# {name} = {value}", ""]
    return "\n".join(lines)


class Origin(NamedTuple):
    """A setting with its value and where that came from."""

    name: str
    value: str
    origin: str
    description: str


class Loaded(NamedTuple):
    """The settings and the origin of each."""

    settings: Settings
    origins: tuple[Origin, ...]

    def origin(self, name: str) -> str:
        """Where the value of `name` came from."""
        return next(each.origin for each in self.origins if each.name == name)


def reached_at(host: str, port: int) -> str:
    """The address at which a browser on this machine reaches what listens there.

    >>> reached_at("0.0.0.0", 8730), reached_at("::1", 9000)
    ('http://127.0.0.1:8730', 'http://[::1]:9000')
    """
    host = EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def database_url(value: str) -> str:
    """A SQLAlchemy URL from a file name, `postgres://…` or `postgresql://…`."""
    if "\0" in value:
        raise SettingsError("the name of the database has a zero byte", "Name a file, or a URL.")
    if postgres := re.match(r"postgres(ql)?(\+\w+)?://", value):
        return "postgresql+psycopg://" + value[postgres.end() :]  # without +psycopg the driver is open
    return value if "://" in value else f"sqlite:///{value}"


def load_settings(
    flags: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
    kept: Mapping[str, str] | None = None,
) -> Loaded:
    """Merge flags, environment, file and the addresses that are kept in the database over the defaults.

    Raises SettingsError with the setting and its origin.
    """
    environment = os.environ if environment is None else environment
    _refuse_unknown_variables(environment)
    if file is None:
        named = environment.get("HUMANEVAL_CONFIG")
        file = Path(named or CONFIG_FILE)
        if named and not file.exists():
            raise SettingsError(f"{file} does not exist (from environment HUMANEVAL_CONFIG)")
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for name in Settings.model_fields.keys() & (kept or {}).keys():
        values[name], origins[name] = (kept or {})[name], KEPT
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
            f"setting {name!r} (from {origins.get(name, DEFAULT)}): {reason}",
            f"It means: {Settings.model_fields[name].description}",
        ) from None
    if "public_url" not in values and settings.port:
        settings = settings.model_copy(update={"public_url": reached_at(settings.host, settings.port)})
    rows = (
        Origin(
            name,
            _shown(settings, name),
            origins.get(name, DEFAULT),
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    )
    return Loaded(settings, tuple(rows))


def _shown(settings: Settings, name: str) -> str:
    value = str(getattr(settings, name))
    if name in SECRETS:
        return "(set)" if value else ""
    return without_password(value) if name == "database" else value


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    known = {variable for variables in ENVIRONMENT.values() for variable in variables}
    for variable in environment:
        if (
            variable.startswith("HUMANEVAL_")
            and variable not in known
            and not variable.startswith(OTHER_VARIABLES)
        ):
            listed = ", ".join(sorted(name for name in known if name.startswith("HUMANEVAL_")))
            raise SettingsError(f"the environment has an unknown setting {variable}", f"Known: {listed}.")


def _from_file(file: Path) -> dict[str, object]:
    if not file.exists():
        return {}
    try:
        values = read_toml(read_whole(file, "utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file} is not valid TOML: {error}",
            f"Correct the line, or move the file away and write a new one with `{command('init')}`.",
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
