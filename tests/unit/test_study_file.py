"""The study file: faults name their setting, the hash covers everything, presets are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from humaneval.errors import SettingsError
from humaneval.limits import SYSTEMS
from humaneval.resources import bundled
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.presets import PRESETS, preset_over
from humaneval.study.section import NEW
from tests.conftest import ROOT


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = (bundled("bundled") / "study.toml").read_text(encoding="utf-8")
    changed, times = re.subn(old, new, text, count=1, flags=re.M)
    assert times == 1
    path = tmp_path / "study.toml"
    path.write_text(changed, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("^# annotators = 40", "annotators = 0", "design.annotators: must be at least 1$"),
        ("^# annotators = 40", "annotators = true", "design.annotators: must be a whole number$"),
        ("^# annotators = 40", "anotators = 40", "design.anotators: there is no such setting"),
        (r"^\[page\]", "[pages]", "pages: there is no such setting"),
        (
            r"^\[answers\]",
            '[answers]\nquestion = "rate"\npoints = 7',
            r": question is in \[answers\]; put it above all sections$",
        ),
        (r"^\[answers\]", "[answers]\npoints = 7", "or name another question above all sections"),
        (r"^\[design\]", '[design]\nquestion = "rate"', "design.question: question goes above all"),
        ("^reward = ", 'question = "rate"\nreward = ', "hit.question: question goes above all sections"),
        ('^question = "W.*', 'question = "rate"', "page.question is the text that people read; to ask"),
        (r"^\[design\]", "[[design]]", "design: must be a section of settings$"),
        (
            "^positions = .*",
            "positions = [1, 21]",
            "design: positions must be different numbers from 1 to 20",
        ),
        ("^positions = .*", "positions = [2, 2]", "design: positions must be different numbers from 1 to 20"),
        ("^generators = .*", 'generators = ["a", "a"]', "design: generators lists a twice$"),
        ("^generators = .*", 'generators = ["a", ""]', "design.generators, item 2: must not be empty$"),
        (
            "^passages_per_row = .*",
            "passages_per_row = 1",
            "design: passages_per_row must be 0 .* or from 2 to the 4",
        ),
        (
            "^passages_per_row = .*",
            "passages_per_row = 5",
            "design: passages_per_row must be 0 .* or from 2 to the 4",
        ),
        (
            "^responses_per_passage = .*",
            "responses_per_passage = 3",
            "design: annotators must be a multiple .*, for example 42",
        ),
        (
            "^responses_per_passage = .*",
            "responses_per_passage = 0",
            "responses_per_passage: must be at least 1$",
        ),
        ("^control = .*", 'control = "contrl"', "design: control names 'contrl', which is not among"),
        ("^human = .*", 'human = "people"', "design: human names 'people', which is not among"),
        ("^human = .*", 'human = "control"', "design: control and human are the same"),
        ("^top_up = .*", 'top_up = "always"', "design.top_up: must be 'never', 'ask' or 'auto'$"),
        ("^allow = .*", 'allow = ["broken"]', "design.allow, item 1: must be 'ok'"),
        ("^level = .*", "level = 0.9999999999999999", "analysis.level: must be from 0.5 to 0.999$"),
        ("^level = .*", "level = 0.3", "analysis.level: must be from 0.5 to 0.999$"),
        ("^seed = .*", "seed = 3000000000", "design.seed: must be less than 2,147,483,648$"),
        ("^reward = .*", "reward = 0.805", "hit.reward: 0.805 is finer than a cent"),
        ("^reward = .*", 'reward = "-0.80"', "hit.reward: must be at least 0$"),
        ("^reward = .*", 'reward = "lots"', "hit.reward: 'lots' is not an amount of money"),
        (
            "^expected_minutes = .*",
            "expected_minutes = inf",
            "hit.expected_minutes: must be a finite number$",
        ),
        ("^expected_minutes = .*", "expected_minutes = 1e-300", "= 1e-300 is less than a second$"),
        ("^title = .*", f'title = "{"x" * 129}"', "hit.title: may have at most 128 characters$"),
        ('^question = "W.*', 'question = "  "', "page.question: must not be empty"),
        ("^contact = .*", r'contact = "\\u0007"', r"consent.contact: .*U\+0007"),
        ("^countries = .*", 'countries = ["Germany"]', "participants.countries, item 1: "),
        ("^missed_control = .*", 'missed_control = "all"', "exclusions.missed_control: "),
        ("^seed = .*", "seed = ", "not valid TOML"),
        *[
            (f"^{line} = .*", f"{line} = {'[' * deep}{']' * deep}", r"not valid TOML: nested too deeply$")
            for line, deep in (("filters", 400), ("filters", 1200), ("keywords", 100), ("positions", 100))
        ],
        ("^filters = .*", f'filters = [{{filter_id = "x", a{".a" * 100} = 1}}]', "nested too deeply$"),
        ("^seed = .*", f"{'a.' * 1_000_000}a = 1", "nested too deeply$"),  # read, it would take minutes
        ("^control = .*", 'control = ""', "design.control: must not be empty$"),
        (
            "^generators = .*",
            'generators = ["a"]',
            "design.generators: must have at least 2 items, but has 1$",
        ),
        (
            "^comparisons = .*",
            'comparisons = [["example-good", "zz"]]',
            r"study\.toml: analysis\.comparisons names 'zz'",  # nothing between the colon and the setting
        ),
        (
            "^comparisons = .*",
            'comparisons = [["example-good", "human"]]',
            r"study\.toml: analysis\.comparisons names the human",
        ),
    ],
)
def test_a_study_file_with_a_fault_names_the_file_and_the_setting(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = edited(tmp_path, old, new)
    with pytest.raises(SettingsError, match=message) as caught:
        read_study_file(path)
    assert str(path) in caught.value.message


def test_the_docs_example_of_a_scale_fit_marks_the_sentence_that_should_fit(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    path = tmp_path / "study.toml"
    path.write_text(f'{example}\n[design]\ngenerators = ["control", "human", "a"]\n', encoding="utf-8")
    study = read_study_file(path).settings
    assert study.question == "rate"
    assert study.answer_settings["mark"] is True


def test_an_override_of_a_section_that_is_no_section_names_it(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("design = 3\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"design: must be a section of settings$"):
        read_study_file(path, overrides={"design": {"seed": 3}})


def test_the_least_seed_is_one() -> None:
    assert read_study_file(None, overrides={"design": {"seed": -(2**31)}}).settings.design.seed == -(2**31)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"generators": ["control", "human", "g", "g"]}, "--generators: generators lists g twice"),
        ({"generators": ["control", "human", ""]}, "--generators: item 3 must not be empty"),
        ({"generators": ["g"]}, "--generators: must have at least 2 items, but has 1"),
        ({"allow": ["nonsense"]}, "--allow: item 1 must be 'ok', 'empty'"),
        ({"annotators": 10**12}, "--annotators: must be at most 100,000"),
    ],
)
def test_a_fault_of_an_option_names_the_option_and_no_file(design: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_study_file(None, overrides={"design": design})
    assert caught.value.message.startswith(message)
    assert "study.toml" not in caught.value.message


def test_of_settings_that_do_not_go_together_the_option_is_named(tmp_path: Path) -> None:
    path = edited(tmp_path, "^responses_per_passage = .*", "responses_per_passage = 3")
    with pytest.raises(SettingsError, match=r"^--annotators: annotators must be a multiple"):
        read_study_file(path, overrides={"design": {"annotators": 41}})
    with pytest.raises(SettingsError, match=r"^the preset acl2020 and .*study\.toml together: design: annot"):
        read_study_file(path, preset="acl2020")


def test_what_a_preset_replaces_in_a_file_is_said(tmp_path: Path) -> None:
    path = edited(tmp_path, "^# annotators = 40", "annotators = 41")
    said = preset_over(path, "acl2020", {"stories"})
    assert said == f"--preset acl2020 overrides {path}: generators, annotators = 100 (not 41)."
    assert preset_over(None, "acl2020") == preset_over(path, None) == ""


def test_a_study_file_that_is_not_there_and_a_preset_that_is_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml does not exist"):
        read_study_file(tmp_path / "nowhere.toml")
    with pytest.raises(SettingsError, match="no preset 'acl2021'") as caught:
        read_study_file(None, preset="acl2021")
    assert caught.value.hint == f"Presets: {', '.join(PRESETS)}."


def test_X25_the_hint_about_a_study_file_works_where_init_would_leave_it(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('[design]\ngenerators = ["a", "b"]\n[hit]\nreward = "much"\n', encoding="utf-8")
    with pytest.raises(SettingsError) as told:
        read_study_file(file)
    explained = Path(told.value.hint.removeprefix("Every setting is explained in ").removesuffix("."))
    assert "reward" in explained.read_text(encoding="utf-8")
    with pytest.raises(SettingsError, match="does not exist") as told:
        read_study_file(tmp_path / "other.toml")
    assert "to a folder that has none" in told.value.hint
    with pytest.raises(SettingsError) as told:
        read_study_file(tmp_path)
    assert "init" not in told.value.hint


def test_the_hash_depends_on_every_setting_and_not_on_how_the_file_is_laid_out(tmp_path: Path) -> None:
    settings, _ = read_study_file(None)
    values = settings.model_dump(mode="json")
    assert StudyFile.model_validate(values) == settings
    backwards = json.loads(json.dumps(values), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert StudyFile.model_validate(backwards).hash == settings.hash
    other = {
        "design": {
            "generators": ["human", "control"],
            "control": "example-poor",
            "human": "example-good",
            "annotators": 42,
            "rows_per_annotator": 2,
            "passages_per_row": 3,
            "responses_per_passage": 2,
            "split": "",
            "stories": 3,
            "positions": [1],
            "seed": 1,
            "top_up": "ask",
            "pilot": True,
            "allow": ["cut"],
        },
        "page": {
            "question": "?",
            "instructions": "",
            "show_titles": True,
            "practice": True,
            "language": "de",
            "story_language": "id",
        },
        "consent": {"version": "2", "text": "", "contact": "a@example.org", "retention_days": 365},
        "hit": {
            "title": "t",
            "description": "d",
            "keywords": [],
            "reward": "0.81",
            "currency": "GBP",
            "expected_minutes": 5,
            "assignment_minutes": 46,
            "lifetime_days": 8,
            "auto_approval_days": 4,
        },
        "words": {"send": "Submit"},
        "link": {
            "pay": "elsewhere",
            "worker_parameter": "a",
            "session_parameter": "b",
            "completion_code": "c",
            "completion_url": "https://example.org",
            "panel": "sona",
            "failed_control": "f",
            "screened_out": "s",
            "quota_full": "q",
            "no_consent": "https://example.org/no",
            "postback_url": "https://example.org",
        },
        "panel": {
            "worker_placeholder": "[ID]",
            "session_placeholder": "[SID]",
            "extra_parameters": {"AID": "[AID]"},
            "id_pattern": "[0-9]+",
            "return_parameter": "rid",
            "ids_per_study": True,
            "hashed": "{worker}",
            "postback_granted": "status=ok",
            "postback_already": "before",
            "postback_repeats": True,
            "list_worker": "Person",
            "list_session": "Visit",
            "list_code": "Code",
            "list_outcome": "State",
            "list_done": "ok",
        },
        "prolific": {"devices": ["desktop"], "filters": [{"filter_id": "age"}]},
        "participants": {
            "countries": ["DE"],
            "min_approved_percent": 1,
            "min_approved_hits": 1,
            "masters": True,
            "qualifications": [{"id": "3A", "at_least": 2}],
            "exclude_studies": ["s"],
        },
        "exclusions": {
            "missed_control": "row",
            "incomplete": False,
            "words_per_second": 12,
            "straight_lining": 0.001,
            "spam": 0.9,
            "also": [{"name": "all", "missed_control": "none"}],
        },
        "analysis": {
            "level": 0.9,
            "adjust": "none",
            "comparisons": [["example-good", "example-poor"]],
            "below_human": False,
            "equivalence_margin": 0.1,
            "smallest_effect": 0.2,
            "expected_score": 0.3,
            "power": 0.9,
            "worker_sd": 1.0,
            "story_sd": 1.0,
            "spammers": 0.0,
        },
    }
    assert {(s, name) for s in other for name in other[s]} == {
        (s, name)
        for s in values
        if s not in ("question", "answers")
        for name in (values[s] if s != "words" else ["send"])
    }
    hashes = {
        read_study_file(None, overrides={section: {name: value}})[0].hash
        for section, changes in other.items()
        for name, value in changes.items()
    }
    assert len(hashes | {settings.hash}) == 1 + sum(map(len, other.values()))


def test_a_stored_study_of_more_systems_than_are_compared_stays_readable() -> None:
    settings, _ = read_study_file(None)
    values = settings.model_dump(mode="json")
    values["design"]["generators"] = [*settings.design.generators, *map(str, range(SYSTEMS))]
    assert len(StudyFile.model_validate(values).design.generators) > SYSTEMS
    with pytest.raises(ValueError, match="at most"):
        StudyFile.model_validate(values, context=NEW)


def test_what_the_command_line_set_stands_in_the_stored_study_file() -> None:
    _, text = read_study_file(None, preset="acl2020", overrides={"design": {"seed": 7}})
    assert text.splitlines()[0] == "# preset: acl2020"
    assert text.splitlines()[-1] == '# from the command line: {"design": {"seed": 7}}'
