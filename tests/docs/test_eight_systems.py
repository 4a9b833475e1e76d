"""Runs the page on the paper's study as it is printed, with tiny models and few people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install -e '.[models]'")

from generators.training.corpus import train_tokenizer
from humaneval.stories import bundled_stories
from tests.conftest import ROOT
from tests.docs.pages import run_page, story_file
from tests.models.pairs import train_pair
from tests.models.small_models import keep, tiny_gpt2


@pytest.mark.models
@pytest.mark.long
def test_X58_X68_the_papers_study_runs_as_printed(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    train = story_file(folder / "train.csv", "train")
    for split in ("test", "valid"):
        story_file(folder / f"{split}.csv", split)
    tokenizer = train_tokenizer([" ".join(story.sentences) for story in bundled_stories()], 500)
    model = tiny_gpt2(500, n_embd=64)
    texts = [tokenizer.encode(" ".join(story.sentences)).ids for story in bundled_stories()]
    train_pair(model, [(ids, ids) for ids in texts], steps=300)  # so that what it writes are words
    gpt2 = keep(tmp_path / "tiny-gpt2", model, tokenizer)
    bert = [
        "train",
        "bert",
        "--from-scratch",
        "--stories",
        train,
        "--minutes",
        "0.05",
        "--out",
        tmp_path / "tiny-bert",
    ]
    subprocess.run([sys.executable, "-m", "humaneval", *map(str, bert)], check=True, cwd=ROOT)
    printed = run_page(
        ROOT / "docs" / "eight-systems.md",
        folder,
        N="40",
        ANNOTATORS="8",
        MINUTES="0.3",
        LM=str(gpt2),
        BERT=str(tmp_path / "tiny-bert"),
    )
    scored = {row["generator"] for row in json.loads(printed[printed.index("\n{\n") :])["scores"]}
    assert scored == {
        "control",
        "bert-stories",
        "sa",
        "lm-scratch",
        "lm",
        "ilm-scratch",
        "ilm",
        "human",
    }
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in scored)
    assert sorted(path.name for path in (folder / "release").iterdir()) == [
        "codebook.md",
        "infills.csv",
        "passages.csv",
        "runs.json",
    ]
