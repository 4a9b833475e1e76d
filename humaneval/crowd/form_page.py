"""The annotator's page, the same for every way of delivery; and the XML that a platform needs around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from humaneval.crowd.answers import answer_field, unscored_field
from humaneval.crowd.page_cache import filled
from humaneval.crowd.page_words import PageWords, isolated
from humaneval.errors import PlatformError
from humaneval.limits import read_whole
from humaneval.plugins import calling
from humaneval.resources import bundled
from humaneval.scoring.questions.question import CHOICE, DETECT, Answer, Question, load_question
from humaneval.study.asked import asked_by
from humaneval.study.file import StudyFile
from humaneval.study.words import AT_MARKETPLACES, ENGLISH, Channel, example_of, words_of
from humaneval.text import between

MAX_QUESTION_BYTES = 65_535
LONG = 120
"""In characters: three lines on a phone."""
FRAME_HEIGHT = 0
"""In pixels; 0 lets the worker site fit the frame to the window. A frame taller than a phone has two
scrollbars."""
_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_EXTERNAL = f"{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
_HTML = f"{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd"


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as an annotator may see it, without any sign of which sentence a machine wrote."""

    place: int
    sentences: tuple[str, ...]
    title: str = ""
    position: int = 0
    """The position of the sentence that the question shows in its own way, or leaves out. 0 if none may be
    told."""
    infill: str = ""
    """The sentence at the position."""
    alternative: str = ""
    """A second sentence for the position."""
    between: str = " "
    """What stands between two sentences: nothing in Chinese."""
    fields: tuple[str, ...] = (CHOICE,)
    """What is answered about it."""
    given: Answer = field(default_factory=dict)
    """The earlier answer, or a part of it, if the form is shown again."""
    seconds: str = ""
    """How long it has been in sight so far, as the browser measured it."""

    def name(self, field: str, look: str) -> str:
        """The name of the radio buttons for a field, in a form or in another story that is shown."""
        return answer_field(field, self.place) if look == "form" else unscored_field(field, look)

    @property
    def unanswered(self) -> str:
        """The name of the first field without an answer; of the first one if there is none."""
        left = [name for name in self.fields if name not in self.given]
        return answer_field((left or self.fields)[0], self.place)


@dataclass(frozen=True, slots=True)
class Form:
    """Everything a form shows."""

    study: StudyFile
    passages: tuple[ShownPassage, ...]
    form_hash: str
    simulated: bool = False
    tests: tuple[str, ...] = ()
    """What kinds of test this is, as keys of words."""
    consent_given: bool = False
    missing: tuple[int, ...] = ()
    consent_missing: bool = False
    comment: str = ""
    practice: Answer = field(default_factory=dict)
    """What was chosen in the practice story."""

    def practised(self, story: ShownPassage) -> ShownPassage:
        """The practice story with what was chosen in it."""
        return replace(story, given=self.practice)


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a form reaches a browser and where it goes from there."""

    action: str
    """The address that the form posts to."""
    token: str = ""
    """Signed by us; empty on static pages."""
    static: bool = False
    """The platform shows the page itself: assets are inlined, and a script fills in the assignment."""
    channel: Channel = "task"
    """How the person came."""
    root: str = "/"
    """Where our server's own addresses begin, as seen from the page."""
    may_decline: bool = False
    """Whether the page has a button for people who do not want to take part."""


@cache
def templates(question: Path) -> Environment:
    """The Jinja environment of the annotators' pages, in which the templates of a question's own folder come
    first. It always autoescapes, and undefined names are errors.
    """
    environment = Environment(
        loader=FileSystemLoader([question, bundled("hit_templates")], encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=_asset, isolated=isolated, is_long=_is_long)
    return environment


@cache
def tells_position(question: Question) -> bool:
    """Whether the question has a way of its own to show the sentence at the position: the template
    `sentence.html`. Without one, the position reaches no page."""
    return (question.folder / "sentence.html").exists()


@cache
def question_style(question: Path) -> str:
    """The style sheet of a question, after that of every form; empty if it needs none."""
    file = question / "style.css"
    return read_whole(file) if file.exists() else ""


def _is_long(lines: Sequence[str]) -> bool:
    """Whether a form folds this text away, so that its stories begin on the first screen of a phone."""
    return sum(map(len, lines)) > LONG


def _asset(name: str) -> str:
    return (bundled("hit_templates") / name).read_text(encoding="utf-8")


def render_form(form: Form, delivery: Delivery) -> str:
    """The form as HTML. Forms that nobody has filled in differ in their stories only."""
    form = as_shown(form, delivery.channel)
    if delivery.static or form != _untouched(form):
        return _rendered(form, delivery)
    like = tuple((*map(bool, _asides(shown)), shown.between, len(shown.sentences)) for shown in form.passages)
    key = ("form", form.simulated, form.tests, delivery.channel, delivery.root, delivery.may_decline, like)
    values = [delivery.action, delivery.token, form.form_hash]
    values += [text for shown in form.passages for text in (*_asides(shown), *shown.sentences)]

    def skeleton(holes: Sequence[str]) -> str:
        rest = iter(holes[3:])
        passages = []
        for shown in form.passages:
            # What is empty stays so: templates ask.
            title, infill, alternative = (
                next(rest) if text else next(rest) and "" for text in _asides(shown)
            )
            sentences = tuple(next(rest) for _ in shown.sentences)
            passages.append(
                replace(shown, title=title, infill=infill, alternative=alternative, sentences=sentences)
            )
        delivered = replace(delivery, action=holes[0], token=holes[1])
        return _rendered(replace(form, passages=tuple(passages), form_hash=holes[2]), delivered)

    return filled(key, form.study, values, skeleton)


def _asides(shown: ShownPassage) -> tuple[str, str, str]:
    """The texts of a passage that it may lack."""
    return shown.title, shown.infill, shown.alternative


def render_handover(
    study: StudyFile, action: str, fields: Mapping[str, str], root: str, channel: Channel = "task"
) -> str:
    """The page that submits the answers to the platform."""
    names = tuple(fields)

    def skeleton(holes: Sequence[str]) -> str:
        shown = dict(zip(names, holes[1:], strict=True))
        return render("handover.html", study, channel, root=root, action=holes[0], fields=shown)

    return filled(("handover", names, root, channel), study, [action, *fields.values()], skeleton)


def _untouched(form: Form) -> Form:
    """The form as it is before anybody has filled it in."""
    passages = tuple(
        replace(shown, given={}, seconds="") if shown.given or shown.seconds else shown
        for shown in form.passages
    )
    return Form(form.study, passages, form.form_hash, form.simulated, form.tests)


def _rendered(form: Form, delivery: Delivery) -> str:
    return render(
        "form.html",
        form.study,
        delivery.channel,
        form=form,
        delivery=delivery,
        root=delivery.root,
    )


def as_shown(form: Form, channel: Channel) -> Form:
    """The form with the sentences at told positions as the question shows them, as HTML, and with what stands
    between sentences."""
    if any(shown.between != between(shown.sentences) for shown in form.passages):
        spaced = [replace(shown, between=between(shown.sentences)) for shown in form.passages]
        form = replace(form, passages=tuple(spaced))
    if not any(shown.position for shown in form.passages):
        return form
    words = PageWords(words_of(form.study, channel), form.study.page.language)
    return replace(form, passages=tuple(_told(shown, form.study, words) for shown in form.passages))


def _told(shown: ShownPassage, study: StudyFile, words: PageWords) -> ShownPassage:
    if not shown.position:
        return shown
    question, settings = asked_by(study)
    sentences = list(shown.sentences)
    infill = sentences[shown.position - 1]
    template = templates(question.folder).get_template("sentence.html")
    sentences[shown.position - 1] = Markup(template.render(words=words, settings=settings, sentence=infill))
    return replace(shown, position=0, sentences=tuple(sentences), infill=infill)


def render(template: str, study: StudyFile | None, channel: Channel, **values: object) -> str:
    """A page in the words of `study`, or in English without one, for people who come by `channel`."""
    words = PageWords(words_of(study, channel), study.page.language if study else ENGLISH)
    question = asked_by(study).question if study else load_question(DETECT)
    with calling(f"the page of question {question.name!r}", type(question).__module__):
        about = {} if study is None else _about(study, words, channel)
        return (
            templates(question.folder)
            .get_template(template)
            .render(
                study=study,
                words=words,
                channel=channel,
                by_link=channel not in AT_MARKETPLACES,
                style=question_style(question.folder),
                **about,
                **values,
            )
        )


def _about(study: StudyFile, words: PageWords, channel: Channel) -> dict[str, object]:
    question, settings = asked_by(study)
    example = example_of(study)
    position = question.example.position if tells_position(question) else 0
    shown = ShownPassage(1, example.sentences, position=position, alternative=example.other)
    shown = replace(shown, between=between(example.sentences))
    return {
        "consent": [line for line in words.words.consent(study, channel).splitlines() if line.strip()],
        "names_pay": "{pay}" in study.consent.text or "{reward}" in study.consent.text,
        "settings": settings,
        "right": question.obvious(question.example, settings),
        "example": _told(shown, study, words),
        "example_language": example.language,
    }


def external_question(url: str) -> str:
    """ExternalQuestion XML around the address of our form."""
    return _question("ExternalQuestion", _EXTERNAL, "ExternalURL", url)


def html_question(page: str) -> str:
    """HTMLQuestion XML around a whole static page; characters outside the basic plane as numeric entities.

    The platform stores them in this form, but refuses the raw characters.
    """
    plain = "".join(c if ord(c) < 0x10000 else f"&#x{ord(c):X};" for c in page)
    return _question("HTMLQuestion", _HTML, "HTMLContent", plain)


def _question(kind: str, schema: str, element: str, content: str) -> str:
    root = ElementTree.Element(kind, {"xmlns": schema})
    ElementTree.SubElement(root, element).text = content
    ElementTree.SubElement(root, "FrameHeight").text = str(FRAME_HEIGHT)
    return _sized(ElementTree.tostring(root, encoding="unicode"))


def _sized(xml: str) -> str:
    size = len(xml.encode())
    if size > MAX_QUESTION_BYTES:
        raise PlatformError(
            f"the question has {size:,} bytes; the platform takes {MAX_QUESTION_BYTES:,}",
            "Show fewer or shorter passages, or publish without --static, so that our server shows the page.",
        )
    return xml
