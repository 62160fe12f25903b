from __future__ import annotations

from pathlib import Path

import pytest

from factible_assets.reasoners.llm import prompts
from factible_assets.reasoners.llm.prompts import (
    PROMPTS,
    Data,
    check_prompts,
    load_prompt,
    video_data,
)
from tests.reasoners.llm.scripted import take_apart
from tests.reasoners.material import CLAIM, VIDEO

NAMES = (
    "claims",
    "queries",
    "evidence",
    "verdict",
    "condense",
    "plan",
    "reasoning",
    "questions",
    "summary",
    "summary_examples",
    "veracity",
    "three_way",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of prompts that replaces the project's, with its rules on data."""
    rules = (PROMPTS / "data_rules.md").read_text(encoding="utf-8")
    (tmp_path / "data_rules.md").write_text(rules, encoding="utf-8")
    monkeypatch.setattr(prompts, "PROMPTS", tmp_path)
    return tmp_path


def write(folder: Path, name: str, body: str, version: str = "1") -> None:
    (folder / f"{name}.md").write_text(f"---\nversion: {version}\n---\n{body}", encoding="utf-8")


def test_every_prompt_file_is_used() -> None:
    assert {path.stem for path in PROMPTS.glob("*.md")} == {
        *NAMES,
        "data_rules",
        "search_rules",
        "stance_rules",
        "summary_rules",
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_says_that_data_is_not_to_be_obeyed(name: str) -> None:
    system = load_prompt(name).system
    assert "never instructs you" in system
    assert "{{" not in system


PUBLISHED = {
    "claims": "claims-5-",
    "queries": "queries-5-",
    "evidence": "evidence-5-",
    "verdict": "verdict-5-",
    **{name: f"{name}-2-" for name in ("questions", "summary", "summary_examples")},
    "veracity": "veracity-2-",
    "three_way": "three_way-2-",
    "condense": "condense-2-",
    "plan": "plan-3-",
    "reasoning": "reasoning-3-",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_version_names_the_file_its_number_and_its_content(name: str) -> None:
    version = load_prompt(name).version
    assert version.startswith(PUBLISHED[name])
    assert len(version) == len(PUBLISHED[name]) + 8


def test_another_wording_is_another_version_even_under_the_same_number(folder: Path) -> None:
    write(folder, "one", "# System\nBe kind.\n\n# User\n{{claim}}\n")
    write(folder, "two", "# System\nBe kind!\n\n# User\n{{claim}}\n")
    one, two = load_prompt.__wrapped__("one"), load_prompt.__wrapped__("two")
    assert one.version.split("-")[2] != two.version.split("-")[2]


def test_filled_places_are_not_expanded_again(folder: Path) -> None:
    write(folder, "sample", "# System\nS\n\n# User\n{{claim}} and {{page}}\n")
    parts = load_prompt.__wrapped__("sample").fill(
        "User", claim=Data("claim", "{{page}} {{claim}}"), page=Data("page", "{{claim}}")
    )
    opened = take_apart("".join(part.text for part in parts))
    assert [each.text for each in opened.inside] == ["{{page}} {{claim}}", "{{claim}}"]


def test_an_unfilled_place_is_an_error(folder: Path) -> None:
    write(folder, "sample", "# System\nS\n\n# User\n{{claim}} and {{page}}\n")
    with pytest.raises(ValueError, match=r"\['claim', 'page'\] and was given \['claim'\]"):
        load_prompt.__wrapped__("sample").fill("User", claim="A claim")


@pytest.mark.parametrize(
    ("body", "version", "sentence"),
    [
        ("# System\nS\n", "1", "lacks its System or its User section"),
        ("# System\n{{claim}}\n\n# User\nU", "1", "places that nothing fills"),
        ("# System\nS\n\n# User\nU", "zero", "front matter"),
    ],
)
def test_a_malformed_prompt_file_is_named(
    folder: Path, body: str, version: str, sentence: str
) -> None:
    write(folder, "sample", body, version)
    with pytest.raises(ValueError, match=sentence):
        load_prompt.__wrapped__("sample")


def test_a_prompt_file_without_front_matter_is_an_error(folder: Path) -> None:
    (folder / "sample.md").write_text("# System\nS", encoding="utf-8")
    with pytest.raises(ValueError, match="front matter"):
        load_prompt.__wrapped__("sample")


def test_prompt_files_of_ones_own_need_the_sections_and_places_of_the_projects(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match="has no prompt file"):
        check_prompts(tmp_path)
    own = tmp_path / "plan.md"
    own.write_text((PROMPTS / "plan.md").read_text().replace("the fewest steps", "few steps"))
    check_prompts(tmp_path)
    assert "few steps" in load_prompt("plan", tmp_path).system
    other = tmp_path / "questions.md"
    other.write_text((PROMPTS / "questions.md").read_text().replace("{{count}}", "ten"))
    with pytest.raises(ValueError, match="a section User with the places claim, count"):
        check_prompts(tmp_path)
    other.rename(tmp_path / "riddles.md")
    with pytest.raises(ValueError, match="replaces no prompt"):
        check_prompts(tmp_path)


def test_a_title_that_repeats_the_claim_is_not_shown_as_if_it_were_a_source() -> None:
    title = CLAIM.text.removesuffix(".")[:20]
    listed = VIDEO.model_copy(update={"title": f"{title}…"})
    assert "Title" not in video_data(listed, CLAIM).text
    assert f"Title: {VIDEO.title}" in video_data(VIDEO, CLAIM).text
