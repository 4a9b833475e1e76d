"""Settings of a study file that contradict each other: those that are refused, and those that are doubtful.

A rule here names both settings and what follows from them. Stored studies are never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from humaneval.domain import FEWEST_SENTENCES, SENTENCES, Role
from humaneval.study.countries import COUNTRIES, MEANT
from humaneval.study.file_errors import TogetherError
from humaneval.study.forbidden import forbidden_questions
from humaneval.study.panels import doubts_of_panel, refuse_panel
from humaneval.study.words import CONSENT_PLACEHOLDERS, lacking_words
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.study.file import ExclusionRule, StudyFile
    from humaneval.study.participants_section import QualificationSection

SHORTEST_LIFETIME = 30
"""In seconds: what a marketplace accepts."""
MOST_PLACES = 9
"""How many people can take one HIT; each of them takes it once."""
WITHOUT_SPACES = ("zh", "yue", "ja", "th", "lo", "km", "my", "bo", "dz")
"""Languages that are written without spaces between words."""
MANY_STRAIGHT = 0.2
"""A limit on straight-lining that would exclude this share of careful annotators is doubtful."""


def refuse_contradictions(study: StudyFile) -> None:
    """Raise TogetherError for the first two settings that cannot both hold."""
    _refuse_times(study)
    _refuse_listing(study)
    for name, rule in _rules(study):
        _refuse_rule(study, name, rule)
    for one, other in combinations(study.participants.qualifications, 2):
        _refuse_both(one, other)
    refuse_panel(study)
    if study.link.pay == "elsewhere" and not study.hit.reward:
        raise TogetherError(
            'link.pay = "elsewhere" records hit.reward as paid, and that is 0.00: set the reward, or pay ='
            ' "none"',
            "link.pay",
            "hit.reward",
        )
    own = sorted(key for key in study.words if key.startswith("example_"))
    if study.page.practice and own and "practice_why" not in study.words:
        raise TogetherError(
            f"page.practice = true explains the bundled example story, and words.{own[0]} is your own: set"
            " words.practice_why, and make the third sentence the one that does not fit",
            "page.practice",
            f"words.{own[0]}",
        )
    if study.analysis.power <= study.analysis.alpha:
        raise TogetherError(
            f"analysis.power = {study.analysis.power:g} is not above the allowed error of analysis.level ="
            f" {study.analysis.level:g}, which is {study.analysis.alpha:.3g}",
            "analysis.power",
            "analysis.level",
        )
    if any(study.design.role(name) is Role.HUMAN for pair in study.analysis.comparisons for name in pair):
        raise TogetherError(
            "analysis.comparisons names the human, whose comparisons are a separate family: set below_human ="
            " true to test whether each system scores below it",
            "analysis.comparisons",
            "design.human",
        )


def _refuse_times(study: StudyFile) -> None:
    hit = study.hit
    if hit.expected_minutes * 60 < 1:
        raise TogetherError(
            f"hit.expected_minutes = {hit.expected_minutes:g} is less than a second", "hit.expected_minutes"
        )
    if hit.assignment_minutes < hit.expected_minutes:
        raise TogetherError(
            f"hit.assignment_minutes = {hit.assignment_minutes} leaves less time than hit.expected_minutes ="
            f" {hit.expected_minutes:g}: allow at least twice what you expect",
            "hit.assignment_minutes",
            "hit.expected_minutes",
        )
    if hit.lifetime_seconds < max(SHORTEST_LIFETIME, hit.expected_minutes * 60):
        raise TogetherError(
            f"hit.lifetime_days = {hit.lifetime_days:g} ends before hit.expected_minutes ="
            f" {hit.expected_minutes:g} are over (and is at least {SHORTEST_LIFETIME} seconds)",
            "hit.lifetime_days",
            "hit.expected_minutes",
        )

    if hit.lifetime_seconds < hit.assignment_minutes * 60:
        raise TogetherError(
            f"hit.lifetime_days = {hit.lifetime_days:g} is shorter than hit.assignment_minutes ="
            f" {hit.assignment_minutes}: a worker could have more time for a HIT than it can be found",
            "hit.lifetime_days",
            "hit.assignment_minutes",
        )


def _refuse_listing(study: StudyFile) -> None:
    """Raise TogetherError for keywords and countries that a platform reads otherwise or not at all."""
    for keyword in study.hit.keywords:
        if "," in keyword:
            apart = ", ".join(f'"{part.strip()}"' for part in keyword.split(",") if part.strip())
            raise TogetherError(
                f'hit.keywords has "{keyword}" with a comma, which separates keywords at a platform: write'
                f" {apart or 'it without'}",
                "hit.keywords",
            )
    for code in study.participants.countries:
        if code not in COUNTRIES:
            meant = f"; perhaps you mean {MEANT[code]}" if code in MEANT else ""
            raise TogetherError(
                f'participants.countries has "{code}", which is no country code of ISO 3166{meant}',
                "participants.countries",
            )


def _rules(study: StudyFile) -> Iterator[tuple[str, ExclusionRule]]:
    yield "exclusions.", study.exclusions
    for number, rule in enumerate(study.exclusions.also, 1):
        yield f"exclusions.also, item {number}: ", rule


def _refuse_rule(study: StudyFile, name: str, rule: ExclusionRule) -> None:
    design = study.design
    if design.control not in design.generators:
        for setting, on, off in (
            ("missed_control", rule.missed_control != "none", '"none"'),
            ("spam", rule.spam > 0, "0"),
        ):
            if on:
                value = getattr(rule, setting)
                raise TogetherError(
                    f"{name}{setting} = {_toml(value)} needs a control, and design.generators has none"
                    f" (design.control = {_toml(design.control)}): add it, or set {setting} = {off}",
                    f"exclusions.{setting}",
                    "design.generators",
                )
    if rule.straight_lining and len(design.positions) == 1:
        raise TogetherError(
            f"{name}straight_lining excludes annotators who always mark the same sentence, which is right"
            f" with design.positions = {list(design.positions)}: set straight_lining = 0",
            "exclusions.straight_lining",
            "design.positions",
        )
    shortest = _sentences(study)
    least = study.row_size * shortest / (study.hit.expected_minutes * 60)
    if 0 < rule.words_per_second < least:
        raise TogetherError(
            f"{name}words_per_second = {rule.words_per_second:g} excludes everybody at"
            f" hit.expected_minutes = {study.hit.expected_minutes:g}: even stories of {shortest} sentences of"
            f" one word are then read at {least:.2g} words a second",
            "exclusions.words_per_second",
            "hit.expected_minutes",
        )


def _sentences(study: StudyFile) -> int:
    """How many sentences stories have at least, by the positions that the file names; else five."""
    named = "positions" in study.design.model_fields_set and study.design.positions
    return max((FEWEST_SENTENCES, *named)) if named else SENTENCES


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def _refuse_both(one: QualificationSection, other: QualificationSection) -> None:
    together = one.id == other.id and (
        one.endpoint == other.endpoint or not (one.endpoint and other.endpoint)
    )
    if together and one.lacking != other.lacking:
        raise TogetherError(
            f"participants.qualifications asks for workers with {one.id} (at_least, or nothing) and"
            " without it (lacking = true): nobody is both",
            "participants.qualifications",
        )


def doubts(study: StudyFile) -> list[str]:
    """Sentences about settings that can hold together, but hardly as they are meant."""
    found = [
        *_doubts_of_people(study),
        *_doubts_of_rules(study),
        *_doubts_of_texts(study),
        *_doubts_of_answers(study),
        *doubts_of_panel(study),
    ]
    if study.analysis.equivalence_margin > study.analysis.smallest_effect:
        found.append(
            f"analysis.equivalence_margin = {study.analysis.equivalence_margin:g} is above"
            f" analysis.smallest_effect = {study.analysis.smallest_effect:g}: a difference that matters would"
            " count as equivalent"
        )
    return found


def _doubts_of_people(study: StudyFile) -> Iterator[str]:
    design = study.design
    forms, hits = design.annotators // design.responses_per_passage, -(-design.annotators // MOST_PLACES)
    if design.rows_per_annotator > forms:
        yield (
            f"design.rows_per_annotator = {design.rows_per_annotator} is more than the {forms} different rows"
            f" of design.annotators = {design.annotators} with responses_per_passage ="
            f" {design.responses_per_passage}"
        )
    elif design.rows_per_annotator > hits:
        yield (
            f"design.rows_per_annotator = {design.rows_per_annotator}, but design.annotators ="
            f" {design.annotators} make {counted(hits, 'HIT')}, and a person gets each HIT once"
        )
    needed = design.rows_per_annotator * study.row_size
    if 0 < design.stories < needed:
        yield (
            f"design.stories = {design.stories} is fewer than the {needed} that design.rows_per_annotator ="
            f" {design.rows_per_annotator} needs, because nobody meets a story twice"
        )
    rule = study.exclusions
    off = rule.missed_control == "none" and not rule.incomplete
    if design.top_up != "never" and off and not (rule.words_per_second or rule.straight_lining or rule.spam):
        yield (
            f'design.top_up = "{design.top_up}" replaces excluded annotators, and [exclusions] excludes none'
        )


def _doubts_of_rules(study: StudyFile) -> Iterator[str]:
    answers = study.row_size * study.design.rows_per_annotator
    options = study.asked.fields(study.answer_settings, _sentences(study))[0].values
    rarest = options ** (1 - answers)
    for name, rule in _rules(study):
        if rule.straight_lining >= MANY_STRAIGHT:
            yield (
                f"{name}straight_lining = {rule.straight_lining:g} excludes careful annotators, too: up to"
                " that share of them by chance"
            )
        elif 0 < rule.straight_lining <= rarest:
            yield (
                f"{name}straight_lining = {rule.straight_lining:g} excludes nobody: {answers} equal answers"
                f" (design.generators, rows_per_annotator) have a probability of {rarest:.2g}"
            )
        language = study.page.language_of_stories
        if rule.words_per_second and language.lower().split("-")[0] in WITHOUT_SPACES:
            yield (
                f"{name}words_per_second = {rule.words_per_second:g} counts words between spaces; stories in"
                f" {language} (page.story_language) have none"
            )
        if 0 < rule.spam <= study.analysis.spammers:
            yield (
                f"{name}spam = {rule.spam:g} is not above your guess analysis.spammers ="
                f" {study.analysis.spammers:g}: it excludes people about whom nothing is known"
            )


def _doubts_of_answers(study: StudyFile) -> Iterator[str]:
    gated = any(rule.missed_control != "none" for _, rule in _rules(study))
    if gated and study.design.control in study.design.generators:
        yield from study.asked.doubts(study.answers)


def _doubts_of_texts(study: StudyFile) -> Iterator[str]:
    if sentence := lacking_words(study):
        yield sentence
    yield from forbidden_questions(study)
    for name in dict.fromkeys(re.findall(r"\{(\w+)\}", study.consent.text)):
        if name not in CONSENT_PLACEHOLDERS:
            known = ", ".join(f"{{{one}}}" for one in CONSENT_PLACEHOLDERS)
            yield f"consent.text has {{{name}}}, which nothing fills in; there are {known}"
    if "{reward}" in study.consent.text and not study.hit.reward:
        yield "consent.text names {reward}, and hit.reward is 0.00: {pay} says that nothing is paid"
