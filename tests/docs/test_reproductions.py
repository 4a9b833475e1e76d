"""Other people's figures come out of the commands as the page prints them, line for line."""

from __future__ import annotations

import csv
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.commands import Command
from tests.conftest import ROOT, lacking

PAGE = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"^```sh\n(humaneval .*?)\n```\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    (shlex.split(command.replace("\\\n", " "))[1:], printed) for command, printed in SHOWN.findall(PAGE)
]

TARGETS = {
    "deepfake3/group1_v_select.json": ["445  0.4652", "     23        445"],
    "deepfake3/group1_v_write.json": ["350  0.4971"],
    "deepfake3/group2_v_select.json": ["440  0.4909"],
    "deepfake3/group2_v_write.json": ["325  0.5354"],
    "deepfake3/derived_long_anon.csv": [
        "0.122287  0.101345",
        "0.233485",
        "0.235561",
        "0.235636",
        "0.247324",
        "0.230653",
        "0.230727",
        "0.096886  0.181895",
        "0.096877  0.181887",
        "0.06801.",
        "0.06809.",
        "0.149275  0.208969",
        "-1009.6043",
    ],
    "deepfake3/articles_gold.csv": ["paragraph_1  23", "paragraph_2  16", "paragraph_3  11"],
    "strap/coha_Batch_4025612_batch_results.csv": [" 74 ", " 12 ", " 10 ", "(tie)  ", "0.3895"],
    "strap/formality_np0.0_Batch_4041393_batch_results.csv": [" 88 ", " 25 ", " 36 ", "0.2984"],
    "toloka/naturalness_full-annotation-result.tsv": [
        "fusion  150  2.13",
        "gpt2  150  3.64",
        "progen  150  2.13",
        "scratchplot  150  4.02",
    ],
    "toloka/interestingness_full-annotation-result.tsv": ["2.31", "3.19", "3.05", "4.17"],
    "toloka/coherence_full-annotation-result.tsv": ["1.89", "3.41", "1.88", "3.99"],
    "toloka/ending_full-annotation-result.tsv": ["249", "201"],
    "reprohum_d2t/Combined_Coherence.xlsx": [
        "-0.4167",
        "25.42",
        "-15",
        "-10.42",
        "0.4167",
        "320",
        "277",
        "0.7783",
        "0.7171",
        "4405.67",
        "4200.23",
        "2806",
        "119",
        "5.04",
        "6.46",
    ],
    "feb/3b_Batch_4601996_batch_results_sensemaking_unifiedqa_t5_3b.csv": [
        "yes    801",
        "w_yes  398",
        "w_no   347",
        "no     614",
    ],
    "hanna/user_study.csv": ["282", "18"],
    "power/highvar_lowmer_lmer.csv": ["0.2700", "0.6000", "0.3150", "0.8350"],
    "power/likert_ratings.csv": ["586 rows, 10 columns"],
}
"""File → what the manifest of the data, a table beside them, or R and statsmodels say of it; as the command
prints it."""


def test_the_page_prints_every_target() -> None:
    printed: dict[str, str] = {}
    for arguments, text in COMMANDS:
        printed[arguments[2]] = printed.get(arguments[2], "") + text
    for file, figures in TARGETS.items():
        for figure in figures:
            assert figure in printed[file], (file, figure)


def test_every_target_of_the_manifest_has_its_command(test_data: Path) -> None:
    with (test_data / "responses" / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        named = {row["file"] for row in csv.DictReader(file, delimiter="\t") if row["target"]}
    second = {"strap/formality_np0.0_Batch_4041529_batch_results.csv"}  # it replaces a part of the first
    assert named - second <= set(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "printed"), COMMANDS, ids=[" ".join(arguments[2:])[:70] for arguments, _ in COMMANDS]
)
def test_the_command_prints_what_the_page_says(
    command: Command, test_data: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], printed: str
) -> None:
    if any(argument.endswith(".xlsx") for argument in arguments) and find_spec("openpyxl") is None:
        lacking("openpyxl", 'pip install "humaneval-toolkit[excel]"')
    monkeypatch.chdir(test_data / "responses")
    monkeypatch.setenv("COLUMNS", "80")
    said = command(*arguments)
    assert said.code == 0, said.err
    assert "\n".join(line.rstrip() for line in said.out.splitlines()) == printed
