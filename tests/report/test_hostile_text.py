from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.records.tables import PageText, Transcript
from factible_assets.report.data import ReportData, safe_url
from factible_assets.report.writing import Index, render_index
from factible_assets.stages import ids
from resources.files import report_name
from tests.report import samples
from tests.report.page import Page

PAYLOADS = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<style>*{display:none}</style>",
    "<img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" onfocus="alert(1)" autofocus x="',
    '" style="position:fixed;inset:0" x="',
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    '<a href="javascript:alert(1)">x</a>',
    '<base href="https://evil.example/">',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    '<link rel="stylesheet" href="https://evil.example/x.css">',
    "<form action='https://evil.example/'><button>send</button></form>",
    "<!--><script>alert(1)</script>-->",
    "--><script>alert(1)</script><!--",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<noscript><p title='</noscript><script>alert(1)</script>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<textarea></textarea><script>alert(1)</script>",
    "{{ 7 * 7 }}{% for x in [] %}{{ self.__init__.__globals__ }}",
    "{{ ''.__class__.__mro__ }}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "<scr\x08ipt>alert(1)</script>",
    "\u202e<script>alert(1)</script>\u202c",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "`${alert(1)}`",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "</q></p></article></main><script>alert(1)</script>",
)
HOSTILE_URLS = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "\x01javascript:alert(1)",
    "java\nscript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "ftp://a.example/",
    "//evil.example/x",
    "/relative",
    "#fragment",
    "",
    "http://",
    "https:///path",
    "https:evil.example",
    "http://[::1",
    "https://user:word@evil.example/",
    "https://bank.example@evil.example/",
    'https://a.example/" onmouseover="alert(1)',
    "https://a.example/<script>",
    "https://a.example/x y",
    "https://a.example/\nx",
    "https://a.example/" + "x" * 5000,
    "view-source:https://a.example/",
    "blob:https://a.example/1",
)


def hostile_report(payload: str, url: str = "https://a.example/page") -> ReportData:
    """Put one payload into every field that the outside world fills."""
    text = f"{payload} {samples.SENTENCES[0]} {payload}"
    start = text.index(samples.SENTENCES[0])
    spot = {"char_start": 0, "char_end": len(payload), "match_score": 0.9}
    row = samples.claim(
        0, text=payload, context=payload, thesis=payload, category=payload, claim_id=payload, **spot
    )
    second = samples.claim(1, char_start=start - 1, char_end=len(text))
    page = f"before {payload} after"
    base = {"claim_id": payload, "title": payload, "domain": payload, "canonical_url": url}
    read = samples.evidence(
        0,
        "a.example",
        **base,
        quote=payload,
        quote_start=7,
        quote_end=7 + len(payload),
        summary=payload,
        bias=payload,
        origin=payload,
        content_hash="page",
        page_id="p",
    )
    twin = samples.evidence(0, "b.example", **(base | {"domain": "b.example"}), origin=payload)
    return samples.report_data(
        videos=(
            samples.video(title=payload, channel=payload, video_id=(payload or "x")[:128], url=url),
        ),
        transcripts=(
            Transcript(
                video_id="v",
                text=text,
                provider=payload,
                language=payload,
                content_hash=ids.content_hash(text),
            ),
        ),
        segments=(),
        claims=(row, second),
        queries=(samples.query(0, claim_id=payload, text=payload, reason=payload),),
        searches=(
            samples.search(0, claim_id=payload, provider=payload),
            samples.search(
                0, claim_id=payload, provider=payload, status="infra_error", reason=payload
            ),
        ),
        ratings=(samples.rating(payload, reasons=(payload,), datasets=(payload,)),),
        evidence=(
            read,
            twin,
            *(
                samples.unread(0, "c.example", status, payload).model_copy(update=base)
                for status in ("infra_error", "no_evidence", "skipped")
            ),
        ),
        verdicts=(
            samples.verdict(
                0, "supports", claim_id=payload, summary=payload, reason=payload, disagreement=True
            ),
        ),
        prior_fact_checks=samples.prior_fact_checks(
            claim_id=payload,
            provider=payload,
            publisher=payload,
            domain=payload,
            url=url,
            title=payload,
            claim_reviewed=payload,
            claimant=payload,
            textual_rating=payload,
        ),
        changes=samples.changes(claim_id=payload, claim=payload),
        llm_calls=(samples.call(model=payload, prompt_version=payload, price_known=False),),
        pages=(samples.page("p", url),),
        page_texts=(PageText(content_hash="page", text=page),),
        sets={"verdicts": samples.verdicts_set(payload)},
    )


def hostile_index(payload: str) -> Index:
    """Put a payload into every field of the index that comes from outside."""
    claims = [samples.indexed_claim(number, claim_id=payload, text=payload) for number in range(2)]
    words = dict.fromkeys(("title", "channel", "corpus", "category"), payload)
    video = samples.indexed(**words, video_id=(payload or "x")[:128], claims=claims)
    return samples.index([video])


BASE64 = f"{string.ascii_letters}{string.digits}+/="


def printable(payload: str) -> str:
    """Return the payload as a reader should see it, without unprintable characters."""
    seen = "".join("\ufffd" if ord(c) < 32 else c for c in payload)
    return " ".join(seen.split())


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_anywhere_is_shown_and_runs_nothing(payload: str) -> None:
    page = Page(hostile_report(payload))
    assert page.dangers() == []
    assert page.text("//h1") == printable(payload)
    assert page.text("//blockquote//mark") == printable(payload)
    assert printable(payload) in page.text("//div[@id='panel']")
    assert printable(payload) in page.text("//div[@class='stored']")
    assert printable(payload) in page.text("//section[@class='prior']")
    page.source.encode("utf-8")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_in_the_index_is_shown_and_runs_nothing(payload: str) -> None:
    data = hostile_index(payload)
    video_id = data.videos[0]["video_id"]
    href = report_name(video_id)
    source = render_index(data, {video_id: href})
    page = Page(source)
    assert [danger for danger in page.dangers() if f"link {href}" not in danger] == []
    assert printable(payload) in page.text("//section[@id='videos']//th[@scope='row']")
    assert page.text("//p[@id='packed']").strip(BASE64) == ""


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_an_unsafe_address_is_shown_as_text(url: str) -> None:
    assert safe_url(url) is None
    page = Page(hostile_report("harmless", url))
    assert page.dangers() == []
    player = "https://www.youtube.com/watch?v="
    assert all(link.startswith(("#", player)) for link in page.links())


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/x?q=1&r=2#s",
        "http://a.example",
        "HTTPS://A.example/",
        "https://a.example/@name",
        "https://ü.example/ö?q=%22",
        "https://[2001:db8::1]/",
    ],
)
def test_a_web_address_is_linked_unchanged(url: str) -> None:
    assert safe_url(url) == url
    assert url in Page(hostile_report("harmless", url)).links()


@given(st.text(min_size=1, max_size=60))
def test_no_text_can_run_anything(text: str) -> None:
    assert Page(hostile_report(text)).dangers() == []
