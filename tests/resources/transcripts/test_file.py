from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.text_files import PlacedError
from resources.transcripts import file
from resources.transcripts.base import (
    Cue,
    Found,
    Missing,
    Outage,
    TimedText,
    TranscriptAnswer,
    TranscriptError,
)
from resources.transcripts.file import FileTranscript, parse_transcript, read_transcript
from tests.shared_data import shared_data

SRT = """1
00:00:01,000 --> 00:00:03,500
The first line
of the talk.

2
00:00:03,500 --> 00:00:06,000
<i>And</i> {\\an8}the <font color="#fff">second</font>.
"""

VTT = """WEBVTT - A talk
Kind: captions
Language: en-GB

NOTE
This comment is not said: 00:00:01

STYLE
::cue { background-image: linear-gradient(to bottom, dimgray, lightgray) }

NOTE Style blocks cannot hold blank lines at all

intro
00:01.000 --> 00:03.500 align:start position:0%
<v Ann>Fish &amp; chips</v> cost 5 &lt; 6.

00:00:03.500 --> 00:00:06.000
- <c.loud>No</c>&nbsp;way.
- Yes.
"""

ROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.160 --> 00:00:02.629 align:start position:0%
~
every<00:00:00.480><c> year</c><00:00:00.800><c> the</c>

00:00:02.629 --> 00:00:02.639 align:start position:0%
every year the
~

00:00:02.639 --> 00:00:05.000 align:start position:0%
every year the
ice<00:00:03.000><c> melts</c>

00:00:05.000 --> 00:00:05.010 align:start position:0%
ice melts
~

00:00:05.010 --> 00:00:07.000 align:start position:0%
ice melts
a<00:00:05.500><c> little</c>
""".replace("~", " ")


def parse(text: str | bytes, extension: str = "") -> TimedText:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_transcript(data, extension)


def words(transcript: TimedText) -> list[str]:
    return [cue.text for cue in transcript.cues]


# --- Formats ------------------------------------------------------------------------------------


def test_srt_loses_its_markup_and_keeps_its_times() -> None:
    assert parse(SRT).cues == (
        Cue("The first line of the talk.", 1.0, 2.5),
        Cue("And the second.", 3.5, 2.5),
    )


def test_webvtt_loses_settings_voices_comments_and_styles_and_decodes_entities() -> None:
    transcript = parse(VTT)
    assert transcript.cues == (
        Cue("Fish & chips cost 5 < 6.", 1.0, 2.5, "Ann"),
        Cue("No way.", 3.5, 1.591, new_turn=True),
        Cue("Yes.", 5.091, 0.909, new_turn=True),
    )
    assert (transcript.title, transcript.language) == ("A talk", "en-GB")
    assert transcript.kind == "unknown"


def test_rolling_captions_give_each_line_once_at_its_time() -> None:
    transcript = parse(ROLLING)
    assert [(cue.text, cue.start_seconds) for cue in transcript.cues] == [
        ("every year the", 0.16),
        ("ice melts", 2.639),
        ("a little", 5.01),
    ]
    assert transcript.kind == "generated"


def test_the_number_of_repetitions_reveals_rolling_captions_without_word_times() -> None:
    lines = ["one", "two", "three", "four", "five"]
    cues = [
        f"{number}\n00:00:{number:02},000 --> 00:00:{number + 1:02},000\n{before}\n{line}\n"
        for number, (before, line) in enumerate(zip(["", *lines], lines, strict=False))
    ]
    assert words(parse("\n".join(cues))) == lines


def test_a_line_that_is_said_twice_is_kept_twice() -> None:
    transcript = parse(
        "1\n00:00:01,000 --> 00:00:02,000\nNo.\n\n2\n00:00:02,000 --> 00:00:03,000\nNo.\n"
    )
    assert words(transcript) == ["No.", "No."]


def test_json3_joins_the_parts_of_an_event_and_skips_events_without_words() -> None:
    document = {
        "wireMagic": "pb3",
        "events": [
            {"tStartMs": 0, "dDurationMs": 9000, "id": 1},
            {
                "tStartMs": 1200,
                "dDurationMs": 2400,
                "segs": [{"utf8": "the"}, {"utf8": " ice", "tOffsetMs": 300}],
            },
            {"tStartMs": 3600, "aAppend": 1, "segs": [{"utf8": "\n"}]},
            {"tStartMs": 3600, "dDurationMs": 1000, "segs": [{"utf8": "melts"}]},
        ],
    }
    transcript = parse(json.dumps(document), ".json3")
    assert transcript.cues == (Cue("the ice", 1.2, 2.4), Cue("melts", 3.6, 1.0))
    assert transcript.kind == "generated"


def test_rolling_captions_in_json_say_every_line_once() -> None:
    lines = ["THE MINISTER SAID", "THAT HE HAD READ", "THE REPORT OF THE", "COMMISSION TWICE."]
    shown = [lines[0], *map("\n".join, itertools.pairwise(lines))]
    events = [
        {"tStartMs": 2000 * at, "dDurationMs": 2000, "segs": [{"utf8": text}]}
        for at, text in enumerate(shown)
    ]
    segments = [{"text": text, "start": 2 * at, "duration": 2} for at, text in enumerate(shown)]
    for document in ({"wireMagic": "pb3", "events": events}, segments):
        cues = parse(json.dumps(document)).cues
        assert [cue.text for cue in cues] == lines
        assert [cue.start_seconds for cue in cues] == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "wrap", ["{}", '{{"segments": {}}}', '{{"transcript_data": {{"segments": {}}}}}']
)
def test_segment_lists_may_be_inside_an_object(wrap: str) -> None:
    segments = '[{"text": "Hello\\nthere", "start": 0.5, "duration": 2}]'
    assert parse(wrap.format(segments)).cues == (Cue("Hello there", 0.5, 2.0),)


def test_whispers_segments_with_an_end_are_read() -> None:
    document = {
        "text": "Hi.",
        "language": "de",
        "segments": [{"text": " Hi.", "start": 1, "end": 3}],
    }
    transcript = parse(json.dumps(document))
    assert transcript.cues == (Cue("Hi.", 1.0, 2.0),)
    assert transcript.language == "de"


def test_sbv_is_read_with_its_times() -> None:
    sbv = "0:00:09.000,0:00:12.500\nThe Nile\nis long.\n\n0:00:12.500,0:00:14.000\n42\n"
    expected = (Cue("The Nile is long.", 9.0, 3.5), Cue("42", 12.5, 1.5))
    assert parse(sbv, ".sbv").cues == expected
    assert parse(sbv, ".txt").cues == expected


@pytest.mark.parametrize(
    "text",
    [
        "0:09\nThe Nile\nis long.\n59:12\n42\n59:14\nYes.\n",
        "\n0:09 The Nile is long.\n59:12\t42\n\n59:14 Yes.",
    ],
)
def test_a_copy_of_youtubes_transcript_panel_keeps_its_times(text: str) -> None:
    assert parse(text, ".txt").cues == (
        Cue("The Nile is long.", 9.0, 3543.0),
        Cue("42", 3552.0, 2.0),
        Cue("Yes.", 3554.0, 0.0),
    )


@pytest.mark.parametrize(
    "text",
    [
        "0:09 is a time.",
        "We met.\n10:30 The talk began.\n11:00 It ended.",
        "11:00 It ended.\n10:30 It began.",
        "10:30 we met.\nOne.\nTwo.\nThree.\nFour.\nFive.\n11:00 we parted.",
        "5 --> 6 is how the map goes.\nThat is all.",
        "{intro} Mount Everest grows.",
    ],
)
def test_prose_with_times_arrows_and_braces_stays_prose(text: str) -> None:
    assert parse(text, ".txt").plain_text == text


def test_plain_text_keeps_its_paragraphs_and_has_no_times() -> None:
    transcript = parse("First paragraph.\r\n\r\n[Music] Second.\r\n")
    assert transcript.plain_text == "First paragraph.\n\n[Music] Second."
    assert transcript.cues == ()


def test_a_text_that_begins_with_a_bracket_is_not_json() -> None:
    assert parse("[Music] Welcome back.").plain_text == "[Music] Welcome back."


def test_the_content_decides_the_format_not_the_extension() -> None:
    assert words(parse(SRT, ".txt")) == words(parse(SRT, ".vtt"))


def test_the_published_layout_is_read_whole() -> None:
    runs = shared_data("factible", "runs")
    path = min(runs.glob("max_claims_1/*/outputs.json"))
    published = json.loads(path.read_text())["final_output"]["transcript_data"]["segments"]
    cues = read_transcript(path).cues
    spoken = [each for each in published if each["text"].strip("[] ") not in {"Music", ""}]
    assert len(cues) == len(spoken)
    assert " ".join(" ".join(segment["text"].split()) for segment in spoken) == " ".join(
        cue.text for cue in cues
    )


# --- Damage that costs no words -----------------------------------------------------------------


def test_srt_without_numbers_and_blank_lines_loses_no_words() -> None:
    transcript = parse(
        "00:00:01,000 --> 00:00:02,000\nOne.\n00:00:02,000 --> 00:00:03,000\nTwo.\n\nStill two.\n"
    )
    assert words(transcript) == ["One.", "Two. Still two."]


def test_a_spoken_number_is_no_caption_number() -> None:
    transcript = parse(
        "1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:02,000 --> 00:00:03,000\n43\n"
    )
    assert words(transcript) == ["42", "43"]


def test_an_arrow_in_speech_is_no_timing_line() -> None:
    transcript = parse("1\n00:00:01,000 --> 00:00:02,000\nWater --> steam\n")
    assert words(transcript) == ["Water --> steam"]


@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_words_between_angle_brackets_are_no_tag(header: str) -> None:
    said = "if a<b and x<i then so it goes, <b>bold</b>, <font color=red>red</font>"
    transcript = parse(f"{header}00:00:01.000 --> 00:00:02.000\n{said}\n")
    assert words(transcript) == ["if a<b and x<i then so it goes, bold, red"]


def test_captions_are_sorted_and_negative_durations_become_zero() -> None:
    transcript = parse(
        "1\n00:00:09,000 --> 00:00:10,000\nLater.\n\n2\n00:00:05,000 --> 00:00:04,000\nEarlier.\n"
        "\n3\n-00:00:01,000 --> 00:00:01,000\nFirst.\n"
    )
    assert transcript.cues == (
        Cue("First.", 0.0, 1.0),
        Cue("Earlier.", 5.0, 0.0),
        Cue("Later.", 9.0, 1.0),
    )


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_accents_survive_every_common_encoding(encoding: str) -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,000\nDas Gemüse kostet 5 € – für die Käufer schön günstig.\n"
    )
    assert words(parse(text.encode(encoding))) == [
        "Das Gemüse kostet 5 € – für die Käufer schön günstig."
    ]


def test_one_damaged_byte_does_not_spoil_other_accents() -> None:
    data = "Gemüse, Käse, Brötchen und ".encode() + b"\xff" + " Äpfel".encode()
    assert parse(data).plain_text == "Gemüse, Käse, Brötchen und \ufffd Äpfel"
    assert parse("Was \ufffd war".encode()).plain_text == "Was \ufffd war", "sound UTF-8 stands"


@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_that_was_decoded_with_a_wrong_charset_is_mended(wrong: str, encoding: str) -> None:
    said = "“Árvíztűrő”, said Ágnes – it costs 5 €."
    data = said.encode()
    # Windows reads the bytes that Windows-1252 lacks as Latin-1 does.
    read = "".join(
        bytes([byte]).decode(wrong if byte not in b"\x81\x8d\x8f\x90\x9d" else "latin-1")
        for byte in data
    )
    assert parse(read.encode(encoding)).plain_text == said
    assert parse(said.encode(encoding)).plain_text == said


# --- Unreadable files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "extension", "sentence"),
    [
        (b"", ".srt", "The file is empty."),
        (b" \n\n", ".txt", "words in it"),
        (b"****\n\n****", ".md", "has no words"),
        (b"WEBVTT\n\n", ".vtt", "No caption of the file has words"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n\n", ".srt", "No caption of the file"),
        (b'{"segments": []}', ".json", "no segment in it has words"),
        (b"Just words.", ".vtt", "rename"),
        (b"Just words.", ".sbv", "rename"),
        (b"WEBVTT\n\nJust words.", ".vtt", "no line has times"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ".png", "This is no text"),
        (b"%PDF-1.7\n\x01\x02\x03", ".pdf", "Give WebVTT, SRT"),
        (b"abc\x00\x01\x02\x00def", "", "zero bytes"),
        (bytes(range(1, 32)) * 20, "", "control characters"),
        (b"<!DOCTYPE html><p>Hi", ".html", "This is markup"),
        (b'{"a": 1,\n"b": }', ".json", "This is not JSON: Expecting value"),
        (b'{"segments": [', ".txt", "This is not JSON"),
        (b"{\\rtf1\\ansi Words.}", ".rtf", "This is markup"),
        (b'{"a": 1}', ".json", "holds no transcript"),
        (b'[{"start": 1}]', ".json", "holds no transcript"),
        (b"[\n" + b"[" * 100_000, ".json", "nested too deeply"),
        (b'[{"text": "a", "start": "soon"}]', "", "'soon'"),
        (b'[{"text": "a", "start": NaN}]', "", "12.5"),
        (b'{"events": [{"tStartMs": "x", "segs": [{"utf8": "a"}]}]}', "", "'x'"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(data: bytes, extension: str, sentence: str) -> None:
    with pytest.raises(PlacedError) as refusal:
        parse(data, extension)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    "timing",
    [
        "00:00:0x,000 --> 00:00:02,000",
        "00:00:61,000 --> 00:01:02,000",
        "00:99:01,000 --> 00:01:02,000",
        "00:00:01,000 --> later",
        "soon --> 00:00:02,000",
        "00:00:01,000 -->",
    ],
)
@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_an_unreadable_time_is_named_with_its_line(header: str, timing: str) -> None:
    good = "00:00:01,000 --> 00:00:02,000\nOne.\n\n"
    text = header + good + timing + "\nTwo.\n"
    with pytest.raises(PlacedError) as refusal:
        parse(text)
    assert refusal.value.line == text.split("\n").index(timing) + 1
    assert "00:01:02.500 --> 00:01:05.000" in str(refusal.value)


@pytest.mark.parametrize(
    "timing",
    [
        "00:00:03,000 -> 00:00:04,000",
        "00:00:03,000 -- > 00:00:04,000",
        "00:00:03,000 --&gt; 00:00:04,000",
        "00:00:03.000,00:00:04.000",
        "00:00:03,000 00:00:04",
    ],
)
@pytest.mark.parametrize("header", ["", "WEBVTT\n\n"])
def test_a_damaged_timing_line_is_read(header: str, timing: str) -> None:
    good = "00:00:01,000 --> 00:00:02,000\nOne.\n\n"
    transcript = parse(f"{header}{good}{timing}\nTwo.\n")
    assert transcript.cues == (Cue("One.", 1.0, 1.0), Cue("Two.", 3.0, 1.0))


def test_a_missing_file_a_folder_and_a_huge_file_have_their_own_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TranscriptError, match="There is no such file"):
        read_transcript(tmp_path / "none.vtt")
    with pytest.raises(TranscriptError, match="cannot be read"):
        read_transcript(tmp_path)
    giant = tmp_path / "talk.txt"
    giant.write_text("word " * 1000)
    monkeypatch.setattr(file, "MAX_BYTES", 1000)
    with pytest.raises(TranscriptError, match="not the recording"):
        read_transcript(giant)


@given(st.binary(max_size=300))
def test_no_bytes_whatever_break_the_parser(data: bytes) -> None:
    try:
        transcript = parse_transcript(data)
    except PlacedError:
        return
    assert transcript.cues or transcript.plain_text


@given(st.text(alphabet='0123456789:,.->\n <v/c>{}[]"WEBVTTNOTE ab', max_size=200))
def test_no_caption_like_text_breaks_the_parser(text: str) -> None:
    for extension in ("", ".srt", ".vtt", ".json"):
        try:
            transcript = parse(text, extension)
        except PlacedError:
            continue
        starts = [cue.start_seconds or 0.0 for cue in transcript.cues]
        assert starts == sorted(starts)
        assert all(cue.duration_seconds >= 0 and cue.text for cue in transcript.cues)


# --- Round trips --------------------------------------------------------------------------------

SPEECH = (
    st.text(
        alphabet=st.characters(categories=("L", "N", "Zs"), include_characters="&<'\",.!?%$/"),
        min_size=1,
        max_size=40,
    )
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: any(map(str.isalnum, text)) and "WEBVTT" not in text)
    .filter(lambda text: not any(map(str.isdigit, text.split()[0])))
)

CUES = st.lists(
    st.tuples(SPEECH, st.integers(3_600_000, 3_700_000), st.integers(0, 9_999)),
    min_size=1,
    max_size=9,
    unique=True,
).map(
    lambda rows: tuple(
        Cue(f"{text} is said", start / 1000, length / 1000)
        for text, start, length in sorted(rows, key=lambda row: row[1])
    )
)


def clock(seconds: float, separator: str) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{separator}{rest % 1000:03}"


def timing(cue: Cue, separator: str) -> str:
    starts = cue.start_seconds or 0.0
    ends = starts + cue.duration_seconds
    return f"{clock(starts, separator)} --> {clock(ends, separator)}"


@given(CUES)
def test_what_is_written_as_webvtt_is_read_back(cues: tuple[Cue, ...]) -> None:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    blocks = [f"{timing(cue, '.')}\n{escaped(cue.text)}" for cue in cues]
    assert_same(parse("\n\n".join(["WEBVTT", *blocks])), cues)


@given(CUES)
def test_what_is_written_as_srt_is_read_back(cues: tuple[Cue, ...]) -> None:
    plain = tuple(
        Cue(text, cue.start_seconds, cue.duration_seconds)
        for cue in cues
        if (text := " ".join(cue.text.replace("<", "").replace("&", "").split()))
    )
    blocks = [
        f"{number}\n{timing(cue, ',')}\n{cue.text}" for number, cue in enumerate(plain, start=1)
    ]
    if plain:
        assert_same(parse("\n\n".join(blocks), ".srt"), plain)


@given(CUES)
def test_a_written_segment_list_is_read_back(cues: tuple[Cue, ...]) -> None:
    document = [
        {"text": cue.text, "startSeconds": cue.start_seconds, "duration": cue.duration_seconds}
        for cue in cues
    ]
    assert_same(parse(json.dumps(document)), cues)


def assert_same(transcript: TimedText, cues: tuple[Cue, ...]) -> None:
    assert [cue.text for cue in transcript.cues] == [cue.text for cue in cues]
    for read, written in zip(transcript.cues, cues, strict=True):
        assert read.start_seconds == pytest.approx(written.start_seconds, abs=1e-6)
        assert read.duration_seconds == pytest.approx(written.duration_seconds, abs=1.1e-3)


# --- Provider -----------------------------------------------------------------------------------


async def test_the_provider_answers_whatever_the_file_is(tmp_path: Path) -> None:
    async def answer(name: str) -> TranscriptAnswer:
        return await FileTranscript(tmp_path / name).transcript("v")

    (tmp_path / "good.en.srt").write_text(SRT)
    (tmp_path / "empty.srt").write_text("")
    (tmp_path / "broken.vtt").write_text("WEBVTT\n\n00:00:0x.000 --> 00:00:01.000\nHm.\n")
    good = await answer("good.en.srt")
    assert isinstance(good, Found)
    assert (good.provider, good.transcript.language) == ("file", "en")
    for name, words in (("empty.srt", "empty"), ("gone.srt", "no such"), ("broken.vtt", ":3: ")):
        bad = await answer(name)
        assert type(bad) is Missing
        assert words in bad.reason
    assert isinstance(await answer("."), Outage), "a file that cannot be read now may be later"


async def test_the_listed_language_comes_before_the_files_own(tmp_path: Path) -> None:
    path = tmp_path / "talk.en.srt"
    path.write_text(SRT)
    answer = await FileTranscript(path, "en-AU").transcript("v")
    assert isinstance(answer, Found)
    assert answer.transcript.language == "en-AU"


def test_an_hour_of_captions_takes_no_minutes() -> None:
    blocks = [
        f"{timing(Cue('', second, 3.0), '.')}\n<v Ann>{'abc'[second % 3]} word <c>{second}</c> "
        f"of a long &amp; slow {second}th"
        for second in range(0, 3_600, 2)
    ]
    text = "\n\n".join(["WEBVTT", *blocks])
    began = time.process_time()
    transcript = parse(text)
    assert time.process_time() - began < 2  # a fifteenth of a second on an idle core
    assert len(transcript.cues) == 1_800
