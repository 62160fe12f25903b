"""Fact-checks a video and prints its progress and verdicts. Needs only httpx.

Run as: python client_example.py http://127.0.0.1:8000 VIDEO [TOKEN]
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx


def events(address: str, video: str, token: str = "") -> Iterator[dict[str, Any]]:
    """Launch a check, or join a running one, and yield its events."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = {"video_url": video, "max_claims": 5}
    url = f"{address}/api/v1/fact-check/stream"
    with httpx.stream("POST", url, json=body, headers=headers, timeout=60) as answer:
        if answer.is_error:
            sys.exit(json.loads(answer.read())["detail"])
        for line in answer.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


if __name__ == "__main__":
    for event in events(*sys.argv[1:]):
        print(f"{event['progress']:>3} %  {event['message']}")
        if event["step"] == "complete":
            for claim in event["data"]["result"]["claims"]:
                print(f"{(claim['verdict'] or {}).get('stance')}: {claim['text']}")
