"""The service against its OpenAPI description, with valid and invalid requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis.errors import Unsatisfiable

from factible_assets.settings import Settings
from factible_assets.web import runs
from factible_assets.web.app import create_app
from tests.cli.stored import store_published
from tests.web.doubles import Script


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The service over one checked video, with workers that complete at once."""
    import schemathesis  # noqa: PLC0415 - half a second that no other test needs

    home: Path = tmp_path_factory.mktemp("described")
    store_published(home)
    settings = Settings(home=home, public_url="http://testserver")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MOST_RUNS", 32)
        app = create_app(settings, launch=Script(at_once=True).launch)
        yield schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_answer_is_as_described(described: Any, mode: str) -> None:
    from schemathesis import GenerationMode  # noqa: PLC0415 - see above

    asked = set()
    for found in described.get_all_operations():
        operation = found.ok()

        @examples(
            max_examples=2,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[*HealthCheck],
        )
        @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
        def validate(case: Any) -> None:
            asked.add(case.operation.label)
            case.call_and_validate(timeout=None)

        with suppress(Unsatisfiable):  # An operation without parameters has no invalid requests.
            validate()
    assert "POST /api/v1/fact-check/stream" in asked
    assert "GET /api/v1/videos/{video_id}" in asked


def test_every_route_is_described_with_its_problems(tmp_path: Path) -> None:
    description = create_app(Settings(home=tmp_path)).openapi()
    for path, operations in description["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert set(answer["content"]) == {"application/problem+json"}, path
    request = description["components"]["schemas"]["FactCheckRequest"]["properties"]
    assert request["max_claims"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 20}
    limits = {
        name: (request[name]["minimum"], request[name]["maximum"])
        for name in ("max_queries_per_claim", "max_results_per_query")
    }
    assert limits == {"max_queries_per_claim": (1, 5), "max_results_per_query": (1, 10)}
