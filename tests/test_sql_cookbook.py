"""The cookbook's answers are those of now."""

from pathlib import Path

from tests.cookbook import DOCUMENT, NOTEBOOK, answered, cookbook_world, questions, run_cells


def test_every_answer_of_the_cookbook_is_still_true(tmp_path: Path) -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert questions(document) >= 12
    assert questions(document) == document.count("```sql")
    with cookbook_world(tmp_path) as environment:
        now = answered(document, environment)
        notebook = NOTEBOOK.read_text(encoding="utf-8")
        assert run_cells(notebook, environment) == notebook, "python -m tests.cookbook"
    assert now == document, "write the answers anew: python -m tests.cookbook"
