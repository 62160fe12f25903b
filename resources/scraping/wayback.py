"""Finds copies of pages that are gone, in the Internet Archive's Wayback Machine.

What belongs here: asking for the nearest copy and fetching it as it was stored. What does not:
deciding when a copy is wanted (pages.py).

The availability API names the nearest capture; the `id_` form of its address is the capture's own
bytes, without the archive's banner and rewritten links. Of the API's answer only the time of the
capture is used: which URL is fetched is never decided by what a server says.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from resources.http import HttpClient, OutageError, Response, UnavailableError, status_failure

AVAILABILITY_URL = "https://archive.org/wayback/available"
REPLAY_URL = "https://web.archive.org/web"

_TIMESTAMP = re.compile(r"\d{14}")
_MAX_ANSWER_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Wayback:
    """Fetches copies. An outage of the archive is an outage: the copy may be there another time.

    The archive's robots.txt is not asked, since it speaks of crawling and this is its API. The
    owner of the client closes it.
    """

    http: HttpClient
    availability_url: str = AVAILABILITY_URL
    replay_url: str = REPLAY_URL
    """Under which captures are served."""

    async def fetch(self, url: str) -> Response:
        """Return the newest copy of a page, of whatever status and content type.

        Raises:
            UnavailableError: There is no copy.
            OutageError: The archive did not answer, or not as it should.
        """
        # Without a time, the API often answers that there is nothing.
        now = f"{datetime.now(UTC):%Y%m%d}"
        response = await self.http.get(
            f"{self.availability_url}?url={quote(url, safe='')}&timestamp={now}",
            headers={"Accept": "application/json"},
            max_bytes=_MAX_ANSWER_BYTES,
        )
        if status_failure(response) is not None:
            raise OutageError(f"the Wayback Machine answered {response.status}")
        try:
            nearest = json.loads(response.body)["archived_snapshots"].get("closest")
            if not nearest or not nearest.get("available"):
                raise UnavailableError("the Wayback Machine holds no copy")
            timestamp: str = nearest["timestamp"]
            if _TIMESTAMP.fullmatch(timestamp) is None:
                raise ValueError(timestamp)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            raise OutageError("the Wayback Machine's answer could not be understood") from error
        return await self.http.get(f"{self.replay_url.rstrip('/')}/{timestamp}id_/{url}")
