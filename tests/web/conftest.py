from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from factible_assets.settings import Settings
from factible_assets.web.app import create_app
from tests.cli.stored import VIDEO_ID, store_published
from tests.web.doubles import Browser, Script, listening

TOKEN, OTHER_TOKEN = "a-token-that-is-long-enough", "another-token-that-is-long-enough"
BOTH = SecretStr(f"{TOKEN}, {OTHER_TOKEN}")

Serve = Callable[..., Browser]


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data folder, without the settings of this machine."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "home"
    place.mkdir()
    return place


@pytest.fixture
def serve(home: Path, script: Script) -> Iterator[Serve]:
    """Starts services on real sockets, with given settings and scripted workers."""
    with ExitStack() as stack:

        def start(
            *, grace_seconds: float = 60.0, address: str = "127.0.0.1", **given: Any
        ) -> Browser:
            settings = Settings(home=home, **{"reviewer": "Ada", **given})
            app = create_app(
                settings, launch=script.launch, grace_seconds=grace_seconds, address=address
            )
            browser = stack.enter_context(listening(app))
            browser.home = home
            return browser

        yield start


@pytest.fixture
def published(home: Path) -> str:
    """Publishes a checked video, and returns its id."""
    store_published(home)
    return VIDEO_ID
