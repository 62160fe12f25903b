from __future__ import annotations

import socket

import pytest

from factible_assets.wording import web_address
from tests.cli.conftest import Run


def test_serve_names_a_busy_port_with_the_remedy(factible: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = factible("serve", "--port", str(port))
    assert result.exit_code == 5
    words = f"Port {port} on 127.0.0.1 cannot be listened on: Address already in use"
    assert words in result.stderr
    assert "Choose another --port" in result.stderr


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:3000"),
        ("0.0.0.0", "http://127.0.0.1:3000"),  # noqa: S104 - as its operator writes it
        ("::", "http://[::1]:3000"),
        ("fact.example", "http://fact.example:3000"),
    ],
)
def test_the_address_that_is_printed_opens_in_a_browser(host: str, address: str) -> None:
    assert web_address(host, 3000) == address


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a..b"])
def test_serve_refuses_an_address_of_another_machine(factible: Run, host: str) -> None:
    result = factible("serve", "--host", host, "--port", "0")
    assert result.exit_code == 5
    assert f"Port 0 on {host} cannot be listened on" in result.stderr
    assert "an address of this machine" in result.stderr


def test_listening_to_others_without_a_token_is_refused(factible: Run) -> None:
    everywhere = "0.0.0.0"  # noqa: S104 - refused, which is the point
    result = factible("serve", "--host", everywhere, "--port", "0")
    assert result.exit_code == 5
    assert "FACTIBLE_SERVE_TOKEN" in result.stderr
    assert "127.0.0.1" in result.stderr


def test_a_short_token_is_refused_without_repeating_it(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTIBLE_SERVE_TOKEN", "hunter2")
    result = factible("serve", "--port", "0")
    assert result.exit_code == 5
    assert "at least 16 characters" in result.stderr
    assert "hunter2" not in result.stderr
