"""Attacks on the desk: hostile text, other sites, other people's tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from factible_assets.web import auth
from tests.cli.stored import VIDEO_ID, store_sample
from tests.report import samples
from tests.report.page import Page
from tests.report.test_hostile_text import PAYLOADS
from tests.web.conftest import Serve, bearer
from tests.web.desk.test_pages import CLAIM, CLAIM_PATH, acts_of, send
from tests.web.doubles import Script

READER, REVIEWER, ADMIN = (
    f"{name}-secret-that-is-long" for name in ("reader", "reviewer", "admin")
)
TOKENS = SecretStr(f"Rea:read:{READER}, Reviewer One:review:{REVIEWER}, Root:admin:{ADMIN}")
HTML = {"Accept": "text/html"}


def test_hostile_text_runs_nothing_on_any_page(serve: Serve, home: Path) -> None:
    payload = "".join(PAYLOADS).replace("\x00", "")
    store = store_sample(home)
    with store.connection() as connection:
        for column in ("videos.title", "videos.channel", "claims.text", "evidence.title"):
            table, name = column.split(".")
            connection.execute(f"UPDATE {table} SET {name} = $1", [payload])  # noqa: S608
    store.publish(home / "published.duckdb")
    client = serve(reviewer="<script>alert(1)</script>")
    for text in (payload[:3000], "https://[a link](https://a.example)"):
        assert send(client, f"{CLAIM_PATH}/acts", act="note", text=text).status_code == 303
    words = quote(payload[:200])
    pages = ("", CLAIM_PATH[len("/desk") :], f"/queue?channel={words}", f"/search?q={words}")
    for path in (*pages, "/search?q=script", f"/videos/{VIDEO_ID}"):
        page = Page(client.get(f"/desk{path}").text)
        assert len(page.all("//script")) == 1, path
        assert len(page.all("//style")) == 1, path
        assert page.all("//img | //iframe | //base | //animate | //math | //link") == [], path
        for attribute in page.all("//@*"):
            assert not str(attribute).strip().lower().startswith("javascript:"), path
        assert page.all("//@onerror | //@onfocus | //@onload | //@onmouseover | //@style") == []
    assert Page(client.get(f"/desk/cards/{VIDEO_ID}/{CLAIM}").text).all("//img | //iframe") == []
    markdown = client.get(f"{CLAIM_PATH}/claim.md")
    assert "<script" not in markdown.text.replace("\\<script", "")
    assert markdown.headers["x-content-type-options"] == "nosniff"
    assert "<" not in client.get(f"{CLAIM_PATH}/claim-review.json").text


def test_forms_of_other_sites_are_refused(serve: Serve, script: Script, published: str) -> None:
    client = serve()
    form = {"act": "note", "text": "x", "link": "everyday-beliefs-talk"}
    origins = [
        None,
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1",
        "x://[",
    ]
    for origin in origins:
        headers = {"Origin": origin} if origin else {}
        for path in (f"{CLAIM_PATH}/acts", f"{CLAIM_PATH}/check", "/desk/checks"):
            refused = client.post(path, data=form, headers=headers)
            assert refused.status_code == 403, (origin, path)
    assert client.get("/desk", headers={"Host": "evil.example"}).status_code == 421
    assert script.workers == []
    assert "noted" not in client.get(CLAIM_PATH).text
    assert client.get("/", follow_redirects=False).headers["location"] == "/desk"


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "🧨" * 100, "\u202e\n.."])
def test_a_hostile_file_name_is_accepted_or_refused(
    serve: Serve, script: Script, name: str
) -> None:
    client = serve()
    kinds = {"transcript": "txt", "pages": "html"}
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{field}"; filename="{name}.{kind}"\r\n'
        "\r\nHoney keeps for years in a closed jar.\r\n"
        for field, kind in kinds.items()
    ]
    sent = client.post(
        "/desk/checks",
        content="".join([*parts, "--x--\r\n"]).encode("utf-8", "surrogatepass"),
        headers={"Origin": client.address, "Content-Type": "multipart/form-data; boundary=x"},
    )
    assert sent.status_code in {303, 422}, sent.text


def test_of_equal_acts_at_once_one_is_recorded(serve: Serve, home: Path, published: str) -> None:
    client = serve()
    form = {"act": "add_claim", "text": "Bees dance."}
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(send, client, f"{CLAIM_PATH}/acts", **form) for _ in range(4)]
    answers = [each.result() for each in sent]
    assert sorted(each.status_code for each in answers) == [303, 422, 422, 422]
    assert all("already" in each.text for each in answers if each.status_code == 422)
    assert [each.action for each in acts_of(home)] == ["add_claim"]


def test_a_browser_gets_a_session_instead_of_its_token(serve: Serve, published: str) -> None:
    client = serve(serve_token=TOKENS)
    assert client.get("/desk").status_code == 401
    for wanted in ("/", "/desk/queue?tab=all", f"/reports/{VIDEO_ID}"):
        sent = client.get(wanted, headers=HTML, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (
            303,
            f"/desk/sign-in?to={quote(wanted, safe='')}",
        )
    assert send(client, "/desk/sign-in", token="a-token-of-nobody-at-all").status_code == 401
    for to in ("https://evil.example/", "//evil.example", "/desk/\\evil", "/\\evil.example", ""):
        there = send(client, "/desk/sign-in", token=REVIEWER, to=to)
        assert (there.status_code, there.headers["location"]) == (303, "/desk")
    cookie = there.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert REVIEWER not in cookie
    assert "Reviewer One" in client.get("/desk/queue").text
    # Another site's form carries the session, but is refused.
    foreign = client.post(f"{CLAIM_PATH}/acts", data={"act": "note", "text": "x"})
    assert foreign.status_code == 403
    as_program = client.post("/api/v1/fact-check", json={"video_url": "everyday-beliefs-talk"})
    assert as_program.status_code == 403
    copied = {"Cookie": f"factible_session={client.cookies['factible_session']}"}
    assert send(client, "/desk/sign-out").status_code == 303
    assert client.get("/desk").status_code == 401
    # The copy of the cookie is worthless now.
    assert client.get("/desk", headers=copied).status_code == 401


def test_a_form_after_the_end_of_the_session_keeps_its_words(
    serve: Serve, home: Path, published: str
) -> None:
    client = serve(serve_token=TOKENS)
    words = 'Honey "keeps" <b>\n& more.'
    address = client.address
    browser = {**HTML, "Origin": address, "Referer": f"{address}{CLAIM_PATH}"}
    fields = {"act": "note", "text": words}
    odd = client.post(f"{CLAIM_PATH}/acts", data=fields, headers={**browser, "Referer": "x://["})
    assert odd.status_code == 401
    asked = client.post(f"{CLAIM_PATH}/acts", data=fields, headers=browser)
    assert asked.status_code == 401
    assert "nothing was recorded" in asked.text
    for token, status in (("a-token-of-nobody-at-all", 401), (REVIEWER, 200)):
        form = Page(asked.text)
        hidden = {
            str(each.get("name")): str(each.get("value"))
            for each in form.all("//form//input[@type='hidden']")
        }
        asked = client.post("/desk/sign-in", data={**hidden, "token": token}, headers=browser)
        assert asked.status_code == status
    assert "not recorded yet" in asked.text
    page = Page(asked.text)
    assert page.all("//b") == []
    (back,) = page.all("//p/a/@href")
    assert back == CLAIM_PATH
    assert acts_of(home) == []

    (form,) = page.all("//form")
    assert form.get("action") == f"{CLAIM_PATH}/acts"
    again = {"act": page.all("//input[@name='act']/@value")[0], "text": words}
    assert page.all("//textarea[@name='text']")[0].text_content().strip() == words
    sent = client.post(str(form.get("action")), data=again, headers=browser)
    assert sent.status_code == 303
    assert sent.headers["location"].startswith(CLAIM_PATH)
    (act,) = acts_of(home)
    assert (act.reviewer, act.action) == ("Reviewer One", "note")


def test_a_choice_of_claims_after_the_end_of_the_session_keeps_every_claim(serve: Serve) -> None:
    client = serve(serve_token=TOKENS)
    form = {"kept": "keep=c1&keep=c2&text-c1=One", "path": f"/desk/videos/{VIDEO_ID}/claims"}
    page = Page(client.submit("/desk/sign-in", {"token": REVIEWER, **form}).text)
    assert page.all("//input[@name='keep']/@value") == ["c1", "c2"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"text=" + b"x" * 20_000, "application/x-www-form-urlencoded"),
        (b"--x--\r\n", "multipart/form-data; boundary=x"),
        (b"", "application/x-www-form-urlencoded"),
    ],
)
def test_a_form_that_cannot_be_kept_says_that_nothing_was_done(
    serve: Serve, content: bytes, kind: str
) -> None:
    client = serve(serve_token=TOKENS)
    headers = {**HTML, "Origin": client.address, "Content-Type": kind}
    asked = client.post(f"{CLAIM_PATH}/acts", content=content, headers=headers)
    assert asked.status_code == 401
    assert "nothing was done" in asked.text
    foreign = {**headers, "Origin": "https://evil.example"}
    assert client.post(f"{CLAIM_PATH}/acts", content=content, headers=foreign).status_code == 403


def test_each_role_may_do_only_its_part(serve: Serve, script: Script, published: str) -> None:
    client = serve(serve_token=TOKENS)
    origin = {"Origin": client.address}
    note = {"act": "note", "text": "mine", "reviewer": "Root", "name": "Root"}

    def acted(token: str) -> int:
        headers = {**origin, **bearer(token)}
        return client.post(f"{CLAIM_PATH}/acts", data=note, headers=headers).status_code

    assert client.get("/desk", headers=bearer(READER)).status_code == 200
    page = Page(client.get(CLAIM_PATH, headers=bearer(READER)).text)
    assert page.all("//main//form[@method='post']") == []
    assert acted(READER) == 403
    body = {"video_url": "everyday-beliefs-talk"}
    for path in ("/api/v1/fact-check", "/api/v1/fact-check/stream"):
        assert client.post(path, json=body, headers=bearer(READER)).status_code == 403
    assert script.workers == []
    assert acted(REVIEWER) == 303
    # The name comes from the token, not from the form.
    shown = client.get(CLAIM_PATH, headers=bearer(READER)).text
    assert "Reviewer One" in shown
    assert "Root" not in shown

    as_admin = {**origin, **bearer(ADMIN)}
    run = client.post("/desk/checks", data={"link": body["video_url"]}, headers=as_admin)
    path = f"{run.headers['location']}/cancel"
    assert client.post(path, headers={**origin, **bearer(REVIEWER)}).status_code == 403
    assert client.post(path, headers=as_admin).status_code == 303


def test_a_session_cannot_be_forged_and_ends_with_its_token(
    serve: Serve, published: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(serve_token=TOKENS)
    send(client, "/desk/sign-in", token=READER)
    mine = client.cookies["factible_session"]
    for forged in (f"{mine}0", mine[:-1], mine.swapcase(), "", "...", "x" * 5000, "é"):
        client.cookies.clear()
        cookie = {b"Cookie": f"factible_session={forged}".encode()}
        assert client.get("/desk", headers=cookie).status_code == 401, forged
    still = {"Cookie": f"factible_session={mine}"}
    assert client.get("/desk", headers=still).status_code == 200
    # A restarted service knows the session, unless its token is gone.
    assert serve(serve_token=TOKENS).get("/desk", headers=still).status_code == 200
    assert serve(serve_token=SecretStr(f"{ADMIN}")).get("/desk", headers=still).status_code == 401
    monkeypatch.setattr(auth, "SESSION_SECONDS", -1.0)
    send(client, "/desk/sign-in", token=READER)
    assert client.get("/desk").status_code == 401


def test_a_card_needs_its_signed_address(serve: Serve, published: str) -> None:
    client = serve(serve_token=TOKENS)
    page = Page(client.get(CLAIM_PATH, headers=bearer(REVIEWER)).text)
    (link,) = page.all("//a[text()='Card']")
    address = str(link.get("href"))
    assert client.get(address).status_code == 200
    path, _, key = address.partition("?key=")
    other = samples.claim(1).claim_id
    for wrong in (path, f"{path}?key=0{key[1:]}", f"/desk/cards/{VIDEO_ID}/{other}?key={key}"):
        assert client.get(wrong).status_code == 403, wrong
    assert serve(serve_token=SecretStr(ADMIN)).get(address).status_code == 403
