"""Settings: one precedence, origins that are true, bad values that name themselves, secrets that stay
secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from humaneval.errors import SettingsError
from humaneval.settings import (
    ENVIRONMENT,
    KEPT,
    SECRETS,
    Loaded,
    Settings,
    config_text,
    database_url,
    load_settings,
)
from humaneval.text import without_password

SECRET = "a-secret-of-more-than-16-characters"
ANOTHER = {
    "database": "other.db",
    "public_url": "https://other.example.org",
    "host": "0.0.0.0",
    "port": "9999",
    "market_url": "http://market.example.org:1",
    "market_site": "https://site.example.org",
    "aws_profile": "another",
    "prolific_url": "https://prolific.example.org",
    "prolific_project": "5f",
    "trusted_proxies": "2",
    "open_forms_per_address": "7",
}
"""For each setting that may stand in a file, a value that is not its default."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "humaneval.toml"


def load(file: Path, environment: dict[str, str] | None = None, **flags: object) -> Loaded:
    return load_settings(flags, environment=environment or {}, file=file)


def origin(loaded: Loaded, name: str) -> tuple[str, str]:
    return next((row.value, row.origin) for row in loaded.origins if row.name == name)


def test_C67_a_flag_beats_the_environment_beats_the_file_beats_the_default(config: Path) -> None:
    assert origin(load(config), "database") == ("sqlite:///humaneval.db", "default")
    config.write_text('database = "from-file.db"', encoding="utf-8")
    assert origin(load(config), "database") == ("sqlite:///from-file.db", f"file {config}")
    environment = {"HUMANEVAL_DATABASE": "from-environment.db"}
    assert origin(load(config, environment), "database") == (
        "sqlite:///from-environment.db",
        "environment HUMANEVAL_DATABASE",
    )
    loaded = load(config, environment, database="from-flag.db")
    assert origin(loaded, "database") == ("sqlite:///from-flag.db", "flag")
    assert loaded.settings.database == "sqlite:///from-flag.db"


def test_browsers_are_led_to_where_the_forms_are_served(config: Path) -> None:
    for host, port, address in (
        ("0.0.0.0", 9560, "http://127.0.0.1:9560"),
        ("192.0.2.7", 8730, "http://192.0.2.7:8730"),
    ):
        config.write_text(f'host = "{host}"\nport = {port}\n', encoding="utf-8")
        assert origin(load(config), "public_url") == (address, "default")
    assert load(config, public_url="https://a.example").settings.public_url == "https://a.example"


def test_addresses_that_up_keeps_beat_only_the_defaults(config: Path) -> None:
    kept = {"port": "9000", "market_url": "http://127.0.0.1:9001", "market_file": "market.db"}
    config.write_text('market_url = "http://127.0.0.1:9002"', encoding="utf-8")
    loaded = load_settings(environment={}, file=config, kept=kept)
    assert origin(loaded, "port") == ("9000", KEPT)
    assert origin(loaded, "market_url") == ("http://127.0.0.1:9002", f"file {config}")
    assert origin(loaded, "host") == ("127.0.0.1", "default")


@pytest.mark.parametrize("name", ANOTHER)
def test_C67_every_setting_can_come_from_the_file_and_from_each_of_its_variables(
    name: str, config: Path
) -> None:
    default = getattr(Settings(), name)
    value = ANOTHER[name]
    config.write_text(
        f"{name} = {value if isinstance(default, int) else repr(value)}", encoding="utf-8-sig"
    )  # with the byte order mark that some editors write
    loaded = load(config)
    assert getattr(loaded.settings, name) != default
    assert origin(loaded, name)[1] == f"file {config}"
    for variable in ENVIRONMENT[name]:
        loaded = load(config.with_name("none.toml"), {variable: value})
        assert getattr(loaded.settings, name) != default
        assert origin(loaded, name)[1] == f"environment {variable}"


def test_every_setting_has_a_variable_a_description_and_a_value_in_these_tests() -> None:
    assert set(ENVIRONMENT) == set(Settings.model_fields)
    assert set(ANOTHER) == set(Settings.model_fields) - SECRETS
    assert all(field.description for field in Settings.model_fields.values())


def test_the_toolkits_own_variable_beats_the_general_one(config: Path) -> None:
    both = {"DATABASE_URL": "postgres://general/db", "HUMANEVAL_DATABASE": "ours.db"}
    assert origin(load(config, both), "database") == ("sqlite:///ours.db", "environment HUMANEVAL_DATABASE")
    both["HUMANEVAL_DATABASE"] = ""  # set to nothing is not set
    assert origin(load(config, both), "database")[1] == "environment DATABASE_URL"


def test_AWS_ENDPOINT_URL_MTURK_names_the_address_of_the_local_marketplace(config: Path) -> None:
    loaded = load(config, {"AWS_ENDPOINT_URL_MTURK": "http://127.0.0.1:9000/"})
    assert loaded.settings.market_url == "http://127.0.0.1:9000"


def test_a_flag_that_was_not_given_sets_nothing(config: Path) -> None:
    assert origin(load(config, {"DATABASE_URL": "x.db"}, database=None), "database")[0] == "sqlite:///x.db"


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("postgres://ann@host/db", "postgresql+psycopg://ann@host/db"),
        ("postgresql://ann@host/db", "postgresql+psycopg://ann@host/db"),
        ("postgresql+psycopg2://ann@host/db", "postgresql+psycopg://ann@host/db"),
        ("postgresql+psycopg://ann@host/db", "postgresql+psycopg://ann@host/db"),
        ("postgresql:///db", "postgresql+psycopg:///db"),
        ("studies.db", "sqlite:///studies.db"),
        ("/srv/studies.db", "sqlite:////srv/studies.db"),
        ("sqlite:///studies.db", "sqlite:///studies.db"),
    ],
)
def test_C65_whatever_people_write_becomes_a_url_that_SQLAlchemy_takes(written: str, url: str) -> None:
    assert database_url(written) == url


@pytest.mark.parametrize("variable", ["DATABASE_URL", "HUMANEVAL_DATABASE"])
def test_C65_a_postgres_url_in_the_environment_works(variable: str, config: Path) -> None:
    loaded = load(config, {variable: "postgres://ann:pw@host:5432/db"})
    assert loaded.settings.database == "postgresql+psycopg://ann:pw@host:5432/db"


def test_a_secret_in_the_file_is_refused_and_not_repeated(config: Path) -> None:
    config.write_text(f'secret_key = "{SECRET}"', encoding="utf-8")
    with pytest.raises(SettingsError, match="sets 'secret_key'") as caught:
        load(config)
    assert "HUMANEVAL_SECRET_KEY" in caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint


def test_secrets_and_passwords_are_used_but_never_printed(config: Path) -> None:
    environment = {"HUMANEVAL_SECRET_KEY": SECRET, "DATABASE_URL": "postgres://ann:open-sesame@host/db"}
    loaded = load(config, environment)
    assert loaded.settings.secret_key == SECRET
    assert "open-sesame" in loaded.settings.database
    assert origin(loaded, "secret_key") == ("(set)", "environment HUMANEVAL_SECRET_KEY")
    assert origin(loaded, "database")[0] == "postgresql+psycopg://ann:***@host/db"
    assert SECRET not in str(loaded.origins)
    assert "open-sesame" not in str(loaded.origins)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:hush@host/db",
        "postgresql+psycopg://ann:hu:sh/hush@host/db",
        "postgresql+psycopg://:hush@host/db",
        "postgresql+psycopg://host/db?user=ann&password=hush&sslmode=require",
    ],
)
def test_a_password_is_taken_out_of_a_url_wherever_it_stands(url: str) -> None:
    assert "hush" not in without_password(url)
    assert "***" in without_password(url)
    assert "host/db" in without_password(url)


def test_a_url_without_a_password_is_shown_as_it_is() -> None:
    for url in ("sqlite:////srv/a:b@c.db", "postgresql+psycopg://ann@host/db?sslmode=require"):
        assert without_password(url) == url


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("port", "eighty", "valid integer"),
        ("port", "70000", "65535"),
        ("trusted_proxies", "-1", "greater than or equal to 0"),
        ("public_url", "study.example.org", "must be a web address"),
        ("public_url", "https://study.example.org/?a=1", "must be a web address"),
        ("public_url", "https://study.example.org/#a", "must be a web address"),
        ("public_url", "https://ada:pw@study.example.org", "must be a web address"),
        ("public_url", "https://study.example.org:99999", "must be a web address"),
        ("public_url", "https://study.example.org/a b", "must be a web address"),
        ("public_url", "https://:80", "must be a web address"),
        ("public_url", "https://study..example.org", "must be a web address"),
        ("market_url", "ftp://market", "must be a web address"),
        ("market_site", "market", "must be a web address"),
        ("database", "mysql://host/db", "SQLite file or a postgresql"),
        ("database", "sqlite://", "SQLite file or a postgresql"),
    ],
)
def test_C78_a_bad_value_names_the_setting_where_it_came_from_and_what_it_is_for(
    name: str, value: str, reason: str, config: Path
) -> None:
    for file, environment, where in (
        (config.with_name("none.toml"), {ENVIRONMENT[name][0]: value}, f"environment {ENVIRONMENT[name][0]}"),
        (config, {}, f"file {config}"),
    ):
        config.write_text(f"{name} = {value!r}", encoding="utf-8")
        with pytest.raises(SettingsError, match=reason) as caught:
            load(file, environment)
        assert f"setting {name!r} (from {where})" in caught.value.message
        assert str(Settings.model_fields[name].description) in caught.value.hint


def test_C78_a_short_secret_key_is_refused_without_being_printed(config: Path) -> None:
    with pytest.raises(SettingsError, match="at least 16 characters") as caught:
        load(config, {"HUMANEVAL_SECRET_KEY": "hush-hush"})
    assert "HUMANEVAL_SECRET_KEY" in caught.value.message
    assert "hush" not in caught.value.message.replace("HUMANEVAL", "")


def test_true_is_no_port(config: Path) -> None:
    config.write_text("port = true", encoding="utf-8")
    with pytest.raises(SettingsError, match="must be a whole number"):
        load(config)


def test_an_unknown_setting_in_the_file_lists_the_known_ones(config: Path) -> None:
    config.write_text('databse = "x.db"', encoding="utf-8")
    with pytest.raises(SettingsError, match="unknown setting 'databse'") as caught:
        load(config)
    assert all(name in caught.value.hint for name in ANOTHER)
    assert "secret_key" not in caught.value.hint  # it cannot be set in a file


def test_an_unknown_variable_of_ours_is_refused_and_those_of_others_are_not(config: Path) -> None:
    with pytest.raises(SettingsError, match="unknown setting HUMANEVAL_DATABSE") as caught:
        load(config, {"HUMANEVAL_DATABSE": "x.db"})
    assert "HUMANEVAL_DATABASE" in caught.value.hint
    load(config, {"HUMANEVAL_TEST_DATA": "x", "AWS_REGION": "eu-west-1", "HOME": "/"})


def test_HUMANEVAL_CONFIG_names_the_file_and_must_name_one_that_is_there(
    config: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("port = 9000", encoding="utf-8")
    loaded = load_settings(environment={"HUMANEVAL_CONFIG": str(elsewhere)})
    assert origin(loaded, "port") == ("9000", f"file {elsewhere}")
    elsewhere.unlink()
    with pytest.raises(SettingsError, match=r"elsewhere\.toml does not exist"):
        load_settings(environment={"HUMANEVAL_CONFIG": str(elsewhere)})
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(environment={"HUMANEVAL_CONFIG": str(tmp_path)})


@pytest.mark.parametrize("content", [b"port = ", b"\xff\xfep\x00o\x00"])
def test_a_file_that_is_not_TOML_is_named(config: Path, content: bytes) -> None:
    config.write_bytes(content)
    with pytest.raises(SettingsError, match=r"humaneval\.toml is not valid TOML"):
        load(config)


def test_the_file_that_init_writes_changes_nothing_and_means_its_defaults_when_uncommented(
    config: Path,
) -> None:
    config.write_text(config_text(), encoding="utf-8")
    assert load(config).settings == Settings()
    settings = [line.removeprefix("# ") for line in config_text().splitlines() if " = " in line]
    config.write_text("\n".join(settings), encoding="utf-8")
    loaded = load(config)
    assert loaded.settings == Settings()
    assert {row.name for row in loaded.origins if row.origin != "default"} == set(ANOTHER)


def test_a_database_whose_name_has_a_zero_byte_is_told_in_a_line() -> None:
    with pytest.raises(SettingsError, match="zero byte"):
        load_settings({"database": "a\0b"}, environment={})
