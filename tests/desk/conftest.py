from __future__ import annotations

from tests.http_service.conftest import home, published, script, serve

__all__ = ["home", "published", "script", "serve"]
