"""Pages as somebody saved them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from resources.pages.base import UNDATED, FetchedPage


def saved(url: str, text: str, *, retrieved_at: datetime = UNDATED, **more: Any) -> FetchedPage:
    return FetchedPage(url, "ok", retrieved_at, text=text, **more)
