"""Panels that send people to a link: their parameters, and how they learn what became of each person.

What is known of a panel is a table in `bundled/panels.toml`. A study keeps its own copy: a later table
changes no study.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from humaneval.domain import Role
from humaneval.resources import bundled
from humaneval.study.file_errors import TogetherError
from humaneval.study.section import Printable, Section

if TYPE_CHECKING:
    from humaneval.study.file import StudyFile

NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
ADDRESS = r"https?://[A-Za-z0-9.-]+(:[0-9]+)?([/?]\S*)?"
PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_-]*)\}")
SECRET, DIGEST, CODE = "secret", "sha256", "code"
"""Placeholders for the panel's secret, for the hash of `panel.hashed`, and for the code of the outcome."""
PERSON = ("worker", "session")
"""Placeholders for the ids that the panel has sent."""
SENT_AWAY = ("screened_out", "quota_full", "no_consent")
"""Outcomes of people who give no answers: settings of [link] with a code or an address each."""
_SECRETIVE = re.compile(r"(?i)\b[a-z_]*(token|secret|key|auth)[a-z_]*=[^&{]")


@cache
def known_panels() -> Mapping[str, Mapping[str, Any]]:
    """The table of panels: title, notes, and settings of [link] and [panel] for each."""
    return tomllib.loads((bundled("bundled") / "panels.toml").read_text(encoding="utf-8"))


def is_address(text: str) -> bool:
    """Whether the setting of an outcome is an address, and not a code."""
    return text.startswith(("http://", "https://"))


def _known(name: str) -> str:
    if name and name not in known_panels():
        raise ValueError(
            f'there is no panel "{name}"; there are {", ".join(known_panels())}, and "" for any other'
        )
    return name


def _code_or_address(text: str) -> str:
    if is_address(text) and not re.fullmatch(ADDRESS, text):
        raise ValueError("is no address that a browser can open")
    return text


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return text


Address = Annotated[str, Field(pattern=f"^({ADDRESS})?$")]
Parameter = Annotated[str, Field(pattern=f"^{NAME}$")]
MaybeParameter = Annotated[str, Field(pattern=f"^({NAME})?$")]
Ending = Annotated[Printable, AfterValidator(_code_or_address)]
Pattern = Annotated[str, AfterValidator(_pattern)]


class LinkSection(Section):
    """Settings for people who come by link: the parameters of a panel, and what follows the form."""

    pay: Literal["none", "elsewhere"] = "none"
    panel: Annotated[str, AfterValidator(_known)] = ""
    worker_parameter: Parameter = "PROLIFIC_PID"
    session_parameter: MaybeParameter = "SESSION_ID"
    completion_code: Printable = ""
    completion_url: Address = ""
    failed_control: Ending = ""
    screened_out: Ending = ""
    quota_full: Ending = ""
    no_consent: Ending = ""
    postback_url: Address = ""

    @model_validator(mode="after")
    def _two_names(self) -> LinkSection:
        if self.worker_parameter == self.session_parameter:
            raise ValueError("worker_parameter and session_parameter must have different names")
        return self


class PanelSection(Section):
    """How the panel works. Settings that are left out are those of the panel that `link.panel` names."""

    worker_placeholder: str = "{{%PROLIFIC_PID%}}"
    session_placeholder: str = "{{%SESSION_ID%}}"
    extra_parameters: dict[Parameter, str] = Field(default_factory=dict)
    id_pattern: Pattern = ""
    ids_per_study: bool = False
    return_parameter: MaybeParameter = ""
    hashed: Printable = ""
    postback_granted: Annotated[str, Field(pattern=r"^([A-Za-z_][\w.-]*=\S.*)?$")] = ""
    postback_already: Pattern = ""
    postback_repeats: bool = False
    list_worker: Printable = ""
    list_session: Printable = ""
    list_code: Printable = ""
    list_outcome: Printable = ""
    list_done: Pattern = ""


_BEFORE = ("pay", "worker_parameter", "session_parameter", "completion_code", "completion_url")
"""The settings of [link] that there always were."""


def as_before(values: dict[str, Any]) -> None:
    """Take settings out that say nothing, so that studies made before there were panels keep their hash."""
    link, panel = LinkSection().model_dump(mode="json"), PanelSection().model_dump(mode="json")
    for name, usual in link.items():
        if name not in _BEFORE and values["link"][name] == usual:
            del values["link"][name]
    values["panel"] = {name: value for name, value in values["panel"].items() if value != panel[name]}
    if not values["panel"]:
        del values["panel"]


def with_panel(values: dict[str, Any]) -> None:
    """Fill in what the study file leaves out with the settings of the panel that it names.

    What `init` wrote counts as left out.
    """
    link = values.get("link", {})
    name = link.get("panel", "") if isinstance(link, dict) else ""
    table = known_panels().get(name, {}) if isinstance(name, str) else {}
    for section, usual in (("link", LinkSection()), ("panel", PanelSection())):
        for setting, value in table.get(section, {}).items():
            settings = values.setdefault(section, {})
            if isinstance(settings, dict) and settings.get(setting, getattr(usual, setting)) == getattr(
                usual, setting
            ):
                settings[setting] = value


def notes_of(link: LinkSection) -> tuple[str, ...]:
    """What there is to know of the panel: above all, what nobody has verified."""
    return tuple(known_panels().get(link.panel, {}).get("notes", ()))


class _Text(NamedTuple):
    """A setting with placeholders, and those that it may have."""

    name: str
    text: str
    may_have: tuple[str, ...]


def _texts(study: StudyFile) -> Iterator[_Text]:
    link, panel = study.link, study.panel
    person = (*(PERSON if link.session_parameter else PERSON[:1]), *panel.extra_parameters)
    yield _Text("link.completion_code", link.completion_code, (DIGEST,) if panel.hashed else ())
    yield _Text("link.completion_url", link.completion_url, (*person, CODE))
    yield _Text("link.postback_url", link.postback_url, (*person, SECRET))
    yield _Text("panel.hashed", panel.hashed, (*person, SECRET))
    for name in ("failed_control", *SENT_AWAY):
        text = getattr(link, name)
        yield _Text(f"link.{name}", text, person if is_address(text) else ())


def placeholders(text: str) -> list[str]:
    """The names of the placeholders in a setting.

    >>> placeholders("https://panel.example/done?id={worker}&c={code}")
    ['worker', 'code']
    """
    return PLACEHOLDER.findall(text)


def needed_parameters(study: StudyFile) -> list[str]:
    """The extra parameters without which nobody could be handed back."""
    named = [name for each in _texts(study) for name in placeholders(each.text)]
    return [name for name in study.panel.extra_parameters if name in named]


def needs_secret(study: StudyFile) -> bool:
    """Whether the study's codes or postbacks need the panel's secret."""
    link, panel = study.link, study.panel
    hashed = panel.hashed if DIGEST in placeholders(link.completion_code) else ""
    return SECRET in placeholders(hashed + link.postback_url)


def names_a_person(study: StudyFile) -> bool:
    """Whether what people take back names a person of a panel. An open or a personal link has none."""
    link = study.link
    texts = (link.completion_code, link.completion_url, link.failed_control)
    return bool(study.panel.return_parameter) or any(set(placeholders(each)) - {CODE} for each in texts)


def refuse_panel(study: StudyFile) -> None:
    """Raise TogetherError for settings of a panel that cannot hold together."""
    link, design = study.link, study.design
    for each in _texts(study):
        for name in placeholders(each.text):
            if name not in each.may_have:
                known = ", ".join(f"{{{one}}}" for one in each.may_have) or "none"
                raise TogetherError(
                    f"{each.name} has {{{name}}}, which nothing fills in; it may have: {known}", each.name
                )
    if CODE in placeholders(link.completion_url) and not link.completion_code:
        raise TogetherError(
            "link.completion_url has {code}, and link.completion_code is empty: give the code that the panel"
            " expects",
            "link.completion_url",
            "link.completion_code",
        )
    for outcome in SENT_AWAY:
        if (given := getattr(link, outcome)) and given in (link.completion_code, link.completion_url):
            raise TogetherError(
                f"link.{outcome} is the same as for people who are done: the panel would pay them alike",
                f"link.{outcome}",
                "link.completion_code",
            )
    gate = any(design.role(name) is Role.CONTROL for name in design.generators)
    if link.failed_control and (not gate or study.exclusions.missed_control == "none"):
        raise TogetherError(
            "link.failed_control is for people who miss the control, and the study has none or excludes"
            ' nobody for it (exclusions.missed_control = "none")',
            "link.failed_control",
            "exclusions.missed_control",
        )


def doubts_of_panel(study: StudyFile) -> Iterator[str]:
    """Sentences about settings of a panel that are hardly as they are meant."""
    link = study.link
    fixed = link.completion_code and not placeholders(link.completion_code)
    told = CODE in placeholders(link.completion_url) or link.completion_code in link.completion_url
    if fixed and link.completion_url and not told:
        yield (
            f"link.completion_url does not contain link.completion_code = {link.completion_code}: the panel"
            " may expect another code"
        )
    if _SECRETIVE.search(link.postback_url):
        yield (
            "link.postback_url seems to hold a secret, which the study file and archives show: write {secret}"
            " in its place, and set HUMANEVAL_PANEL_SECRET"
        )
    if study.panel.ids_per_study and study.participants.exclude_studies:
        yield (
            "panel.ids_per_study says that an id may be another person's in each study: by this panel,"
            " participants.exclude_studies keeps nobody out"
        )
    if link.panel == "sona" and not (link.completion_url or link.postback_url):
        yield 'link.panel = "sona" without postback_url and completion_url: nobody is credited'
