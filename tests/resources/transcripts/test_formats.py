"""Every format that tools and pages send: the words once, at their times, with their speakers."""

# ruff: noqa: E501, ISC004, RUF001, RUF007, SIM905 - documents as their makers write them

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from resources.text_files import PlacedError
from resources.transcripts import base, cleaning
from resources.transcripts.file import parse_transcript

WALL = "The Great Wall is visible from the Moon."
BATS = "Bats are blind and use only echoes."
TWO = [(3.0, WALL), (9.0, BATS)]
SPOKEN = [(3.0, "Ann", WALL), (9.0, "Tom", BATS)]


def parse(document: object, extension: str = "") -> base.TimedText:
    text = document if isinstance(document, str) else json.dumps(document)
    return parse_transcript(text.encode(), extension)


def said(document: object) -> list[tuple[float | None, str]]:
    return [(cue.start_seconds, cue.text) for cue in parse(document).cues]


def speakers(document: object) -> list[tuple[float | None, str | None, str]]:
    return [(cue.start_seconds, cue.speaker, cue.text) for cue in parse(document).cues]


def timed_words(key: str, start: str, end: str, scale: float = 1.0) -> list[dict[str, object]]:
    """The two sentences word by word; the first begins at 3 s, the second at 9 s."""
    return [
        {key: word, start: round((at + n * 0.5) * scale, 3), end: (at + n * 0.5 + 0.4) * scale}
        for at, sentence in TWO
        for n, word in enumerate(sentence.split())
    ]


# --- Times --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"WEBVTT\n\n3.000 --> 8.000\n{WALL}\n\n9.000 --> 14.000\n{BATS}\n",
        f"WEBVTT\n\n00:03,000 --> 00:08,000\n{WALL}\n\n00:00:09,000 --> 00:14,000\n{BATS}\n",
        f"WEBVTT\n\n00:03.000 --> 00:08.000 {WALL}\n00:09.000 --> 00:14.000 line:0 {BATS}\n",
        f"1\n00:00:03 --> 00:00:08\n{WALL}\n\n2\n00:00:09 --> 00:00:14\n{BATS}\n",
        f"[00:03.000 --> 00:08.000]  {WALL}\n[00:09.000 --> 00:14.000]  {BATS}\n",
        f"[00:03.000 -> 00:08.000] {WALL}\n[00:09.000 -> 00:14.000] {BATS}\n",
        f"[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, "
        f"MarginR, MarginV, Effect, Text\nDialogue: 0,0:00:03.00,0:00:08.00,Default,,0,0,0,,"
        f"{{\\i1}}{WALL}{{\\i0}}\nComment: 0,0:00:04.00,0:00:08.00,Default,,0,0,0,,Not said\n"
        f"Dialogue: 0,0:00:09.00,0:00:14.00,Default,,0,0,0,,{BATS}\n",
        f"{{75}}{{200}}{WALL}\n{{225}}{{350}}{BATS}\n",
        f"{{75}}{{}}{WALL}\n{{225}}{{350}}{BATS}\n",
        f"{{1}}{{1}}50\n{{150}}{{200}}{WALL}\n{{450}}{{550}}{BATS}\n",
        f"[30][80] {WALL}\n[90][140] {BATS}\n",
        f"<SAMI><BODY><SYNC Start=3000><P>{WALL}<SYNC Start=8000><P>&nbsp;<SYNC Start=9000>"
        f"<P>{BATS}</BODY></SAMI>",
        f"00:00:03:{WALL.replace(' is', '|is')}\n00:00:09:{BATS}\n",
        f"00:00:03:12 , 00:00:08:01 , {WALL}\n00:00:09:00 , 00:00:14:00 , {BATS}\n",
        f"[INFORMATION]\n[TITLE]x\n[END INFORMATION]\n\n00:00:03.00,00:00:08.00\n"
        f"{WALL.replace(' is', '[br]is')}\n\n00:00:09.00,00:00:14.00\n{BATS}\n",
        f"[ti:Walls]\n[length:00:20]\n[00:03.00]<00:03.00>The <00:03.50>{WALL[4:]}\n"
        f"[00:09.00]{BATS}\n[00:14.00]\n",
        f"start\tend\ttext\n3000\t8000\t{WALL}\n9000\t14000\t{BATS}\n",
        f"Von;Bis;Worte\n00:00:03,0;00:00:08,0;{WALL}\n00:00:09,0;00:00:14,0;{BATS}\n",
        f"3.000000\t8.000000\t{WALL}\n9.000000\t14.000000\t{BATS}\n",
        f"1 00:00:03:00 00:00:08:00 {WALL}\n2 00:00:09:00 00:00:14:00 {BATS}\n",
        f"$Font = Arial\n//Words\n00:00:03:00 , 00:00:08:01 , {WALL.replace(' is', '|is')}\n"
        f"00:00:09:00 , 00:00:14:00 , ^I{BATS}^I\n",
        f"1\n00: 00: 03,000 -> 00: 00: 08,000\n< i > {WALL} < / i >\n\n"
        f"2\n00：00：09，000 –› 00：00：14，000\n{BATS}\n",
        f"\ufeff1\n00:00:03,000 --> 00:00:08,000\n{WALL}\n\n\ufeff2\n00:00:09,000 --> 00:00:14,000\n{BATS}\n",
        f"1\r\r\n00:00:03,000 --> 00:00:08,000\r\r\n{WALL}\r\r\n\r\r\n2\r\r\n00:00:09,000 --> 00:00:14,000"
        f"\r\r\n{BATS}\r\r\n",
    ],
)
def test_caption_formats_give_words_and_times(text: str) -> None:
    assert said(text) == TWO


@pytest.mark.parametrize(
    "text",
    [
        f"[00:00:03] {WALL}\n[00:00:09] {BATS}\n",
        f"(00:03) {WALL}\n(00:09) {BATS}\n",
        f"**00:03** {WALL}\n\n**00:09** {BATS}\n",
        f"# A talk\n\n**[00:03]** {WALL}\n\n**[00:09]** {BATS}\n",
        f"- \\[00:03\\] {WALL}\n- \\[00:09\\] {BATS}\n",
        f"{WALL} (00:03)\n{BATS} (00:09)\n",
        f"{WALL} [00:00:03]\n\n{BATS} [00:00:09]\n",
        f"0:03\n3 seconds\n{WALL}\n0:09\n9 seconds\n{BATS}\n",
        f"0:03\n3 seconds {WALL}\n0:09\n9 seconds {BATS}\n",
        f"0:03\n3 Sekunden\n{WALL}\n0:09\n9 Sekunden\n{BATS}\n",
        f"Chapter 1: Walls\n0:03\n3 seconds\n{WALL}\nChapter 2: Animals\n0:09\n9 seconds\n{BATS}\n",
        f"0:03\n{WALL}\n0:09\n{BATS}\n",
    ],
)
def test_times_at_the_edges_of_lines_leave_the_words(text: str) -> None:
    assert said(text) == TWO


def test_a_time_in_words_is_recognised_by_its_numbers_in_any_language() -> None:
    text = (
        "1:02:03\n1 Stunde, 2 Minuten und 3 Sekunden\nJa.\n1:02:09\n1 heure, 2 minutes, 9 s\nNo.\n"
    )
    assert said(text) == [(3723.0, "Ja."), (3729.0, "No.")]
    spoken = "0:03\n3 wise men came.\n0:09\n7 years later they left.\n"
    assert said(spoken) == [(3.0, "3 wise men came."), (9.0, "7 years later they left.")]


def test_a_line_of_lyrics_comes_at_each_of_its_times() -> None:
    lyrics = "[00:01.00]First.\n[00:03.00][00:09.00]Refrain.\n[00:05.00]Second.\n"
    assert [at for at, _ in said(lyrics)] == [1.0, 3.0, 5.0, 9.0]


@pytest.mark.parametrize(
    "xml",
    [
        f'<transcript><text start="3.0" dur="5">{WALL}</text><text start="9">{BATS}</text></transcript>',
        f'<timedtext><text t="3000" d="5000">{WALL}</text><text t="9000">{BATS}</text></timedtext>',
        f'<timedtext format="3"><body><p t="3000" d="5000"><s>The</s><s t="9">{WALL[3:]}</s></p>'
        f'<p t="4000" a="1">\n</p><p t="9000" d="5000">{BATS}</p></body></timedtext>',
        f'<talk><line start="3.0">{WALL}</line><line start="0:09">{BATS}</line></talk>',
        '<tt xmlns="http://www.w3.org/ns/ttml"><body><div><p begin="00:00:03.000">'
        f'{WALL.replace(" is", "<br/>is")}</p><p begin="9s" end="14s">{BATS}</p></div></body></tt>',
        '<tt xmlns="http://www.w3.org/2006/10/ttaf1" xmlns:p="urn:p" p:tickRate="10000000"><body>'
        f'<div><p begin="30000000t">{WALL}</p><p begin="90000000t">{BATS}</p></div></body></tt>',
        '<tt xmlns:p="urn:p" p:frameRate="25"><body begin="2s"><div>'
        f'<p begin="00:00:01:00">{WALL}</p><p begin="175f">{BATS}</p></div></body></tt>',
    ],
)
def test_xml_is_read_by_its_times(xml: str) -> None:
    assert said(xml) == TWO
    assert said(f'<?xml version="1.0" encoding="utf-8" ?>\n{xml}') == TWO


@pytest.mark.parametrize(
    "document",
    [
        [{"text": WALL, "start": 3, "duration": 5}, {"text": BATS, "start": 9, "duration": 5}],
        [{"text": WALL, "start": 3000, "end": 8000}, {"text": BATS, "start": 9000, "end": 14000}],
        [{"text": f"<b>{WALL}</b>", "offset": 3000}, {"text": BATS, "offset": 9000}],
        {"text": f" {WALL}", "chunks": [
            {"timestamp": [3.0, 8.0], "text": f" {WALL}"}, {"timestamp": [9.0, None], "text": BATS}
        ]},
        {"result": {"language": "en"}, "transcription": [
            {"offsets": {"from": 3000, "to": 8000}, "text": f" {WALL}"},
            {"offsets": {"from": 9000, "to": 14000}, "text": f" {BATS}"},
        ]},
        {"transcription": [
            {"timestamps": {"from": "00:00:03,000", "to": "00:00:08,000"}, "text": WALL},
            {"timestamps": {"from": "00:00:09,000", "to": "00:00:14,000"}, "text": BATS},
        ]},
        {"actions": [{"startMs": "3000", "endMs": "8000", "snippet": {"runs": [
            {"text": WALL[:9]}, {"text": WALL[9:]}]}},
            {"startMs": "9000", "endMs": "9500", "snippet": {"runs": [{"text": BATS}]}}]},
        {"results": {"channels": [{"alternatives": [
            {"transcript": f"{WALL} {BATS}", "words": timed_words("punctuated_word", "start", "end")}
        ]}]}},
        {"results": [{"alternatives": [{"transcript": f"{WALL} {BATS}", "words": [
            {**each, "startTime": f"{each['startTime']}s"}
            for each in timed_words("word", "startTime", "end")]}]}]},
        {"results": [{"alternatives": [{"words": [
            {"word": word, "startTime": {"seconds": at, "nanos": 0}, "endTime": {"seconds": at}}
            for at, words in (("3", WALL), ("9", BATS)) for word in words.split()]}]}]},
        {"words": timed_words("text", "start", "end", 1000)},
        [{"start": at, "_": "x7", "text": words} for at, words in TWO],
        {"segment": [{"start_offset": at * 12.5, "start": at, "segment": words} for at, words in TWO]},
        f"Zeit;Wer;Was\n00:00:03;Anna;{WALL}\n00:00:09;Tom;{BATS}\n",
        {"recognizedPhrases": [
            {"offset": "PT3S", "offsetInTicks": 3e7, "nBest": [{"display": WALL}, {"display": "x"}]},
            {"offset": "PT9S", "offsetInTicks": 9e7, "nBest": [{"display": BATS}]},
        ]},
    ],
)  # fmt: skip
def test_json_is_read_by_its_structure(document: object) -> None:
    assert said(document) == TWO


THREE = [(3.5, "Ann", WALL), (9.25, "Tom", BATS), (14.75, "Ann", "Is the wall really visible?")]


@pytest.mark.parametrize(
    "document",
    [
        "\n".join(json.dumps({"ts": at, "who": who, "line": f"{words}\u2028"}, ensure_ascii=False)
            for at, who, words in THREE),
        "<table><tr><th>At</th><th>Speaker</th><th>Text</th></tr>" + "".join(
            f"<tr><td>0:{at:05.2f}</td><td>{who}</td><td>{words}</td></tr>" for at, who, words in THREE) + "</table>",
        "\n\n".join(f"00:00:{at:05.2f}\n{who}\n{words}" for at, who, words in THREE),
        "\n".join(f"{who} - 00:00:{at:05.2f} - {words}" for at, who, words in THREE),
    ],
)  # fmt: skip
def test_words_times_and_speakers_are_told_by_what_they_are(document: object) -> None:
    assert speakers(document)[:3] == [(at, who, words) for at, who, words in THREE]


def test_words_as_lists_have_times_and_words_said_again_with_a_speaker_count_once() -> None:
    words = [
        [each["word"], each["start"], each["end"]] for each in timed_words("word", "start", "end")
    ]
    assert said({"results": [{"alternatives": [{"transcript": WALL, "timestamps": words}]}]}) == TWO
    again = [{**each, "speakerTag": 1} for each in timed_words("word", "start", "end")]
    results = [{"words": timed_words("word", "start", "end")}, {"words": again}]
    found = speakers({"results": [{"alternatives": [each]} for each in results]})
    assert found == [(at, "Speaker 1", words) for at, words in TWO]


def test_words_of_a_script_without_spaces_get_none() -> None:
    spoken = "长城 从 月球 上 看 不见 。 蜂蜜 能 保存 很多 年 。".split()
    words = [{"word": word, "start": at, "end": at + 0.9} for at, word in enumerate(spoken)]
    assert said({"words": words}) == [(0.0, "长城从月球上看不见。"), (7.0, "蜂蜜能保存很多年。")]


def test_the_original_is_read_and_not_its_translation() -> None:
    def lines(*texts: str) -> list[dict[str, object]]:
        return [
            {"start": at, "end": at + 5, "text": text}
            for (at, _), text in zip(TWO, texts, strict=True)
        ]

    translated = {
        "translation": {"results": {"utterances": lines("La muraille se voit.", "Elle voit.")}}
    }
    assert said({**translated, "transcription": {"utterances": lines(WALL, BATS)}}) == TWO
    assert len(said(translated)) == len(TWO)


def test_a_list_of_turns_names_the_speakers_of_the_words() -> None:
    turns = [{"speaker_label": who, "start_time": str(at), "end_time": "9"} for at, who, _ in THREE]
    items = [
        {"start_time": str(at), "alternatives": [{"content": words}]} for at, _, words in THREE
    ]
    assert speakers({"speaker_labels": {"segments": turns}, "items": items}) == THREE


def test_next_to_no_words_among_other_values_are_data() -> None:
    settings = {"player": {"start": 0, "text": "auto"}, "files": [{"path": "/home/ann/talk.srt"}]}
    with pytest.raises(PlacedError, match="holds data"):
        parse(settings)


@pytest.mark.parametrize("claim", ["2 + 2 = 5.", "CO2 = 420 ppm"])
def test_the_only_text_of_a_json_file_may_be_a_formula(claim: str) -> None:
    assert parse_transcript(json.dumps({"text": claim}).encode(), ".json").plain_text == claim


def test_pieces_of_words_are_joined_by_their_own_spaces() -> None:
    pieces = [half for word in WALL.split() for half in (f" {word[:2]}", word[2:]) if half]
    tokens = [{"text": each, "start_ms": 3000 + 100 * n} for n, each in enumerate(pieces)]
    assert said({"tokens": tokens}) == [(3.0, WALL)]


SIX = [(7.0 * n, f"{words} And so on to {n}.") for n, words in enumerate([WALL, BATS] * 3)]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([{"at": int(at * 16_000), "start": int(at * 16_000), "text": words} for at, words in SIX], "unknown unit"),
        ([{"start": at, "text": f"{words} {end}"} for at, words in SIX for end in ("Ja.", "No.", "Si.")], "two texts"),
        ("\n".join(f"[0:{at:04.1f}] {WALL} (0:{int(at):02}) {words}" for at, words in SIX), "their own times"),
        ("09:00 Coffee\n09:30 Opening\n10:00 Oceans\n11:00 Break\n11:30 Panel\n12:30 Lunch", "characters a second"),
        ("\n".join(f"#{n} 00;00;0{n};12\n{words}" for n, (_, words) in enumerate(SIX)), "numbers"),
    ],
)  # fmt: skip
def test_a_broken_promise_refuses_the_file(document: object, problem: str) -> None:
    with pytest.raises(PlacedError, match=problem):
        parse(document)


def test_lines_of_prose_that_no_reader_took_refuse_the_file() -> None:
    note = "Another person speaks here for quite some time"
    text = "".join(f"0:0{n}\n{n} seconds\n{words}\n{note}\n" for n, (_, words) in enumerate(SIX))
    with pytest.raises(PlacedError, match="would be lost"):
        parse(text)


def test_the_length_of_a_recording_in_its_heading_is_no_time_of_a_cue() -> None:
    head = "A walk\nTue, 10 Mar 2026 2:05PM • 1:04:12\n\n"
    text = f"{head}Ann  0:03  \n{WALL}\n\nTom  0:09  \n{BATS}\n"
    assert speakers(text) == SPOKEN


def test_headings_between_labelled_paragraphs_are_not_said() -> None:
    text = f"TOWN OF FALLS\n\n  ANN:  {WALL}\n\n2. MINUTES\n\n  TOM:  {BATS}\n\n  ANN:  Yes.\n"
    assert [words for _, _, words in speakers(text)] == [WALL, BATS, "Yes."]


def test_the_offset_of_lyrics_and_doubled_numbers_are_no_words() -> None:
    assert said(f"[offset:+1000]\n[00:04.00]{WALL}\n[00:10.00]{BATS}\n") == TWO
    cues = [(1, "00:00:03,000 --> 00:00:08,000", WALL), (2, "00:00:09,000 --> 00:00:14,000", BATS)]
    assert said("\n\n".join(f"{n}\n{n}\n{times}\n{words}" for n, times, words in cues)) == TWO


def test_punctuation_without_a_time_stays_with_its_word() -> None:
    items: list[dict[str, object]] = []
    for at, sentence in TWO:
        for n, word in enumerate(sentence.rstrip(".").split()):
            content = [{"content": word}]
            items.append(
                {
                    "start_time": f"{at + n / 2}",
                    "end_time": f"{at + n / 2}",
                    "alternatives": content,
                }
            )
        items.append({"type": "punctuation", "alternatives": [{"content": "."}]})
    assert said({"results": {"items": items}}) == TWO


def test_long_utterances_are_split_into_sentences_by_the_times_of_words() -> None:
    words = timed_words("text", "start", "end", 1000)
    utterance = {"start": 3000, "end": 60_000, "text": f"{WALL} {BATS}", "words": words}
    assert said({"utterances": [utterance], "words": words}) == TWO


# --- Joined, rolling, growing, looping ----------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "starts"),
    [
        (("X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000", "MPEGTS:1350000"), [0, 3, 5, 8]),
        (("X-TIMESTAMP-MAP=MPEGTS:8589844592,LOCAL:00:00:00.000", "MPEGTS:810000"), [0, 3, 10, 13]),
        (("X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000", "MPEGTS:900000"), [0, 3, 10, 13]),
        (("X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000", "MPEGTS:1080000"), [0, 3, 2, 5]),
        (("X-TIMESTAMP-MAP=MPEGTS:900009,LOCAL:00:00:00.000", "MPEGTS:900000"), [0, 3, 5, 8]),
        (("", ""), [0, 3, 5, 8]),
    ],
)
def test_joined_segments_run_on_and_leave_no_header(
    headers: tuple[str, str], starts: list[float]
) -> None:
    first, second = (
        f"WEBVTT\n{each if each[:1] != 'M' else f'X-TIMESTAMP-MAP={each},LOCAL:00:00:00.000'}"
        f"\n\n00:00.000 --> 00:03.000\n{word} one\n\n00:03.000 --> 00:05.000\n{word} two\n\n"
        for each, word in zip(headers, ("Wall", "Bat"), strict=True)
    )
    cues = parse(first.replace("\n\n\n", "\n\n") + second.replace("\n\n\n", "\n\n")).cues
    assert [cue.start_seconds for cue in cues] == sorted(starts)
    by_time = zip(starts, ["Wall one", "Wall two", "Bat one", "Bat two"], strict=True)
    assert [cue.text for cue in cues] == [text for _, text in sorted(by_time)]


def test_captions_repeated_at_segment_borders_appear_once() -> None:
    def segment(*seconds: int) -> str:
        cues = (f"00:0{n}.000 --> 00:0{n + 2}.000\nNumber {n} of them\n" for n in seconds)
        return "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n\n" + "\n".join(cues)

    cues = parse(f"{segment(0, 2, 4)}\n{segment(4, 6)}").cues
    assert [cue.start_seconds for cue in cues] == [0, 2, 4, 6]


def test_two_files_of_subtitles_joined_go_on() -> None:
    part = (
        "1\n00:00:01,000 --> 00:00:03,000\n{0} one.\n\n2\n00:00:04,000 --> 00:00:06,000\n{0} two.\n"
    )
    text = f"{part.format('First')}\n{part.format('Second')}"
    assert [at for at, _ in said(text)] == [1, 4, 7, 10]


def rolled(lines: list[str], join: str) -> str:
    shown = [lines[0], *(f"{a}{join}{b}" for a, b in zip(lines, lines[1:], strict=False))]
    return "\n\n".join(
        f"{n}\n00:00:{2 * n:02},000 --> 00:00:{2 * n + 2:02},000\n{words}"
        for n, words in enumerate(shown, start=1)
    )


@pytest.mark.parametrize("join", ["\n", " "])
def test_rolling_captions_say_each_word_once(join: str) -> None:
    lines = ["we talk of the", "wall and of bats", "which are blind", "and of the moon"]
    assert [words for _, words in said(rolled(lines, join))] == lines


def test_a_line_that_grows_word_by_word_is_said_once() -> None:
    words = "the great wall of China is visible from the Moon".split()
    cues = "\n\n".join(
        f"00:{n:02}.000 --> 00:{n + 1:02}.000\n{' '.join(words[: n + 1])}"
        for n in range(len(words))
    )
    assert said(f"WEBVTT\n\n{cues}") == [(0, " ".join(words))]


@pytest.mark.parametrize(
    "loop", [["It lost it all."], ["I am going home.", "You are going home."], ["谢谢大家光临。"]]
)
def test_endless_repetitions_of_a_recogniser_appear_once(loop: list[str]) -> None:
    texts = [WALL, *loop * 9, BATS]
    cues = [{"start": 2 * n, "end": 2 * n + 2, "text": text} for n, text in enumerate(texts)]
    assert said(cues) == [
        (0, WALL), *((2.0 + 2 * n, text) for n, text in enumerate(loop)), (18.0 * len(loop) + 2, BATS)
    ]  # fmt: skip
    inside = [{"start": 0, "end": 9, "text": f"{WALL} {' '.join(loop * 9)}"}]
    assert said(inside) == [(0, f"{WALL} {' '.join(loop)}")]
    assert said([{"start": 0, "end": 9, "text": f"{WALL} And {'no ' * 20}"}]) == [
        (0, f"{WALL} And no")
    ]


def test_who_made_the_captions_is_not_said() -> None:
    makers = [
        "Subtitles by the Amara.org community",
        "Transcribed by https://otter.ai",
        "www.a.org",
    ]
    cues = [{"start": 2 * n, "end": 9, "text": each} for n, each in enumerate([WALL, *makers])]
    assert said(cues) == [(0, WALL)]


@pytest.mark.parametrize(
    "credit",
    [
        "Субтитры сделал DimaTorzok", "Редактор субтитров А.Синецкая", "Altyazı M.K.", "字幕志愿者 李宗盛",
        "Sous-titrage Société Radio-Canada", "Untertitel im Auftrag des ZDF, 2021", "ترجمة نانسي قنقر",
    ],
)  # fmt: skip
def test_a_credit_that_a_recogniser_invents_is_not_said(credit: str) -> None:
    assert said(
        [{"start": 0, "end": 3, "text": WALL}, {"start": 40, "end": 44, "text": credit}]
    ) == [(0, WALL)]
    assert said([{"start": 0, "end": 3, "text": f"{WALL} {credit}"}]) == [(0, WALL)]
    assert parse(f"{WALL}\n{credit}\n").plain_text == WALL


@pytest.mark.parametrize(
    "words",
    [
        "Subtitles help people who hear badly.",
        "Transcription is done by a large enzyme.",
        "字幕をつけてください。",
        "Субтитры есть на русском.",
        "Thank you.",
    ],
)
def test_a_last_sentence_on_subtitles_and_thanks_are_said(words: str) -> None:
    assert said([{"start": 0, "end": 3, "text": WALL}, {"start": 4, "end": 6, "text": words}])[
        1:
    ] == [(4, words)]


def test_a_farewell_after_a_silence_is_invented() -> None:
    farewells = ["Спасибо за просмотр!", "Please subscribe."]
    late = [{"start": 40 + n, "end": 41 + n, "text": each} for n, each in enumerate(farewells)]
    assert said([{"start": 0, "end": 3, "text": WALL}, *late]) == [(0, WALL)]
    assert said(
        [{"start": 0, "end": 3, "text": WALL}, {"start": 3, "end": 29, "text": "Bye!"}]
    ) == [(0, WALL)]


def test_a_credit_or_farewell_between_silences_is_invented() -> None:
    texts = [WALL, "Thanks for watching!", BATS, "Untertitel von Anna Berg", "Bats fly."]
    cues = [{"start": 40 * n, "end": 40 * n + 3, "text": each} for n, each in enumerate(texts)]
    assert [text for _, text in said(cues)] == [WALL, BATS, "Bats fly."]


def test_layers_that_repeat_a_caption_say_it_once() -> None:
    events = [f"Dialogue: {layer},0:00:03.00,0:00:08.00,Default,,0,0,0,,{WALL}" for layer in (0, 1)]
    assert said("[Events]\n" + "\n".join(events)) == [(3.0, WALL)]


@pytest.mark.parametrize("sound", ["[Music]", "(ein Hund bellt)", "*soft piano*", "♪ la la ♪"])
def test_a_sound_is_not_said(sound: str) -> None:
    cues = [{"start": n, "end": n + 3, "text": each} for n, each in enumerate([WALL, sound])]
    assert said(cues) == [(0, WALL)]


def test_a_sentence_in_round_brackets_is_spoken() -> None:
    assert said([{"start": 0, "end": 3, "text": f"({WALL})"}]) == [(0, f"({WALL})")]


@pytest.mark.parametrize(
    "text",
    [
        f"[00:03] {WALL[:17]} [00:05] {WALL[18:]}\n[00:09] [inaudible 00:10] {BATS}\n",
        f"[00:03] {WALL.replace('Moon', '[Moon](https://site.example/moon)')}\n\n[00:09] {BATS}\n",
        f"[00:03] {WALL.replace(' is', ' [laughter] is')}\n[00:09] {BATS.replace('Bats', 'Bats<rt>bæts</rt>')}\n",
        "<tt><body>"
        + "".join(
            f'<p begin="{at}s">'
            + "".join(
                f'<span begin="{at + n}s">{word}</span>' for n, word in enumerate(words.split())
            )
            + "</p>"
            for at, words in TWO
        )
        + "</body></tt>",
        f'<tt xmlns:ttm="http://www.w3.org/ns/ttml#metadata"><p begin="3s" end="8s"><ttm:desc>laughs'
        f'</ttm:desc>{WALL}</p><p begin="9s" end="14s">{BATS}</p></tt>',
    ],
)
def test_remarks_and_links_in_the_words_are_not_said(text: str) -> None:
    assert said(text) == TWO


def test_times_among_the_words_of_prose_are_not_said() -> None:
    text = f"{WALL} {BATS} {WALL} [00:13:20] {BATS}\n\n{WALL} [inaudible 00:14:02] {BATS}\n"
    assert parse(text).plain_text == f"{WALL} {BATS} {WALL} {BATS}\n\n{WALL} {BATS}"
    with pytest.raises(PlacedError, match="codes or numbers"):
        parse(f"{WALL} [00:03] {BATS} [00:09] {WALL} [00:15]\n")


def test_words_before_the_first_time_begin_at_zero() -> None:
    text = f"Ann: Welcome.\n\nTom: [00:03] {WALL}\n\nAnn: [00:09] {BATS}\n"
    assert speakers(text)[:2] == [(0.0, "Ann", "Welcome."), (3.0, "Tom", WALL)]


PANEL = "".join(f"0:0{n}\nwords {'abcdefg'[n]} are said\n" for n in range(7))


@pytest.mark.parametrize(
    "text",
    [
        f"{PANEL}English\nAll\nFor you\n",
        f"A recorder printed this.\n{PANEL}",
        f"{PANEL}\nPrinted by a recorder.\n",
        f"Tuesday • 21:40\n\nWORDS\nsay, word\n\n{PANEL}",
        f"{PANEL.replace('0:03', 'The second part' + chr(10) + '0:03')}English (auto-generated)\n",
        f"whisper_model_load: type = 2\n\n{PANEL}whisper_print_progress_callback: progress = 99%\n",
        PANEL.replace("said\n", "said\nwhisper_print_progress_callback: progress =  7%\n"),
    ],
)
def test_text_around_the_cues_is_not_said(text: str) -> None:
    assert said(text) == said(PANEL)


def test_heads_and_numbers_of_pages_are_not_said() -> None:
    said_on = [f"Wall number {each} is long." for each in ("one", "two", "three")]
    pages = [
        f"TOWN OF FALLS\nMINUTES\n\nPage {n} of 3\n\nANN: {words}\nWe see it.\n\nTOM: {BATS}\n"
        for n, words in enumerate(said_on, 1)
    ]
    found = [words for _, _, words in speakers("\f".join(pages))]
    assert found == [each for words in said_on for each in (f"{words} We see it.", BATS)]
    talk = "\n".join(
        ["The wall is long.", "We see it.", "Is it old?", "It is.", "Yes.", "So it is."]
    )
    assert parse(f"{talk}\n- 7 -\n{talk}\n- 8 -\n").plain_text == f"{talk}\n{talk}"


def test_a_second_line_of_the_last_cue_is_said_if_others_have_two() -> None:
    text = "".join(f"0:0{n}\nthe words {'abcdefg'[n]}\nare said\n" for n in range(7))
    assert [words.count("are said") for _, words in said(text)] == [1] * 7


def test_pictures_of_a_player_are_no_transcript() -> None:
    frames = "".join(
        f"00:0{n}.000 --> 00:0{n + 1}.000\nsprite-{n}.jpg#xywh={n},0,9,9\n\n" for n in range(9)
    )
    with pytest.raises(PlacedError, match="codes or numbers"):
        parse(f"WEBVTT\n\n{frames}")


# --- Speakers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        f"WEBVTT\n\n00:03.000 --> 00:08.000\n<v Ann>{WALL}</v>\n\n00:09.000 --> 00:14.000\n"
        f"<v.loud Tom>{BATS}\n",
        f"1\n00:00:03,000 --> 00:00:08,000\nAnn: {WALL}\n\n2\n00:00:09,000 --> 00:00:14,000\n"
        f"Tom: {BATS}\n",
        f"1\n00:00:03,000 --> 00:00:08,000\n[Ann] {WALL}\n\n2\n00:00:09,000 --> 00:00:14,000\n[Tom] {BATS}\n\n"
        "3\n00:00:15,000 --> 00:00:16,000\n[Ann] [laughs]\n",
        f"Timespan\tContent\tSpeaker\n0:03 - 0:08\t{WALL}\tAnn\n0:09 - 0:14\t{BATS}\tTom\n0:15 - 0:16\t…\tTom\n"
        "0:17 - 0:18\t…\tAnn\n",
        f"Ann  0:03  \n{WALL}\n\nTom  0:09  \n{BATS}\n",
        f"Ann (00:03):\n{WALL}\n\nTom (00:09):\n{BATS}\n",
        f"@0:03 - Ann (Acme)\n{WALL}\n\n@0:09 - Tom\n{BATS}\n",
        f"**Ann** *00:03*\n{WALL}\n\n**Tom** *00:09*\n{BATS}\n",
        f"**Ann** *[00:03]*: {WALL}\n\n**Tom** *[00:09]*: {BATS}\n",
        f"Ann: [00:00:03] {WALL}\n\nTom: [00:00:09] {BATS}\n",
        f"[00:00:03] Ann: {WALL}\n[00:00:09] Tom: {BATS}\n",
        f"<cite>Ann:</cite><time>0:03</time><p>{WALL}</p><cite>Tom:</cite><time>0:09</time><p>{BATS}</p>",
        "[Script Info]\n[V4 Styles]\n[Events]\nFormat: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, "
        f"Effect, Text\nDialogue: Marked=0,0:00:03.00,0:00:08.00,Default,NTP,0,0,0,,Ann: {WALL}\n"
        f"Dialogue: Marked=0,0:00:09.00,0:00:14.00,Default,NTP,0,0,0,,Tom: {BATS}\n",
        "[Events]\nDialogue: 0,0:00:03.00,0:00:08.00,Default,Ann,0,0,0,,"
        f"{WALL}\nDialogue: 0,0:00:09.00,0:00:14.00,Default,Tom,0,0,0,,{BATS}\n",
        {"version": "1.0.0", "segments": [
            {"speaker": "Ann", "startTime": 3.0, "endTime": 8.0, "body": WALL},
            {"speaker": "Tom", "startTime": 9.0, "endTime": 14.0, "body": BATS},
        ]},
        {"results": [
            {"type": "word", "start_time": at, "end_time": at + 5, "alternatives": [{"content": words, "speaker": who}]}
            for at, who, words in SPOKEN
        ]},
        {"monologues": [
            {"speaker": {"id": 1, "name": "Ann"}, "start": 3, "end": 8, "text": WALL},
            {"speaker": {"id": 2, "name": "Tom"}, "start": 9, "end": 14, "text": BATS},
        ]},
        {"paragraphs": [
            {"speaker": "Ann", "sentences": [{"text": WALL, "start": 3.0, "end": 8.0}]},
            {"speaker": "Tom", "sentences": [{"text": BATS, "start": 9.0, "end": 14.0}]},
        ]},
        '<tt xmlns:m="urn:m" xmlns:xml="http://www.w3.org/XML/1998/namespace"><head><m:agent '
        'xml:id="a"><m:name>Ann</m:name></m:agent><m:agent xml:id="t"><m:name>Tom</m:name></m:agent>'
        f'</head><body><p begin="3s" m:agent="a">{WALL}</p><p begin="9s" m:agent="t">{BATS}</p></body></tt>',
    ],
)  # fmt: skip
def test_speakers_are_told_apart_and_leave_no_label(document: object) -> None:
    assert speakers(document) == SPOKEN


def test_a_text_without_times_has_speakers_too() -> None:
    text = f"Ann Berg: {WALL}\n\nTom Reed: {BATS}\nAnn Berg: Really?\n"
    assert speakers(text) == [
        (None, "Ann Berg", WALL), (None, "Tom Reed", BATS), (None, "Ann Berg", "Really?")
    ]  # fmt: skip


@pytest.mark.parametrize("label", ["[{}] ", "<{}> ", "（{}）", "{}:\n", "{}\n", "{}\n\n"])
def test_names_in_brackets_or_on_lines_of_their_own_are_speakers(label: str) -> None:
    turns = [("Ann", WALL), ("Tom", BATS), ("Ann", "Really?")]
    text = "\n\n".join(f"{label.format(name)}{words}" for name, words in turns)
    assert [(who, words) for _, who, words in speakers(text)] == turns
    timed = [
        {"start": 3 * n, "end": 3 * n + 3, "text": f"{label.format(who)}{words}"}
        for n, (who, words) in enumerate(turns)
    ]
    assert [(who, words) for _, who, words in speakers(timed)] == turns


def test_a_name_in_brackets_holds_until_the_next() -> None:
    texts = [f"[Ann] {WALL}", "And more.", f"[Tom] {BATS}", "[Ann] Really?", "[Tom] No."]
    cues = [{"start": 3 * n, "end": 3 * n + 3, "text": each} for n, each in enumerate(texts)]
    assert [who for _, who, _ in speakers(cues)] == ["Ann", "Ann", "Tom", "Ann", "Tom"]


def test_labels_of_other_scripts_and_of_devices_are_speakers() -> None:
    assert speakers("主持人：欢迎大家。\n李师傅：谢谢。\n主持人：好。")[1] == (
        None,
        "李师傅",
        "谢谢。",
    )
    assert speakers(f"Ann: {WALL}\niPhone: {BATS}\nAnn: Yes.")[1] == (None, "iPhone", BATS)


def test_a_sign_of_another_speaker_divides_a_caption() -> None:
    text = "WEBVTT\n\n00:00.000 --> 00:10.000\n&gt;&gt; ANN: NO WAY. &gt;&gt; YES."
    assert speakers(text) == [(0.0, "ANN", "NO WAY."), (6.364, None, "YES.")]
    assert [cue.new_turn for cue in parse(text).cues] == [True, True]


def test_a_name_above_the_words_of_each_caption_is_its_speaker() -> None:
    cues = [("Ann", WALL), ("Tom", BATS), ("Ann", "It is.")]
    text = "\n\n".join(f"0{n}.0 --> 0{n}.9\n{who}\n{said}" for n, (who, said) in enumerate(cues))
    assert speakers(f"WEBVTT\n\n{text}") == [(n, *cue) for n, cue in enumerate(cues)]


def test_a_label_holds_until_the_next() -> None:
    cues = ["MAN: When we think", "of Einstein", "WOMAN: we think of hair"]
    text = "\n\n".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{each}" for n, each in enumerate(cues))
    assert [who for _, who, _ in speakers(f"WEBVTT\n\n{text}")] == ["MAN", "MAN", "WOMAN"]


@pytest.mark.parametrize(
    "text",
    [
        "Myth: Bats are blind.\nFact: All bats see.\n\nMyth: Sugar makes wild.\nFact: It does not.",
        "Here is the thing: bats are not blind.\n\nRemember this: the Moon is far.",
        "Note: this is a text. We note it.",
        "Yes. I saw it.\n\nNo. It was Tom.\n\nYes. That is it.\n\nNo. I never did.",
        "Remember: three to one.\nStep 2: you wait.\nHere it is.\nSo: that is all.",
    ],
)
def test_a_label_that_names_nobody_stays(text: str) -> None:
    assert parse(text).plain_text == text


# --- Refused files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "extension"),
    [
        ("Scenarist_SCC V1.0\n\n00:00:00:22\t9425 9425 94ad 94ad 9470 9470 4c6f 7265\n", ".scc"),
        ("a;b;c\n1;2;3\n4;5;6\n", ".csv"),
        ('{"foo": [{"bar": 1}]}', ".json"),
        ('{"chapters": [{"startTime": 0, "title": "One"}, {"startTime": 9, "title": "Two"}]}', ""),
        (f'<tt><body><p begin="{"9" * 400}s">{WALL}</p></body></tt>', ".ttml"),
        ('<tt frameRate="x"><body><p begin="3f">Words.</p></body></tt>', ".ttml"),
        ("<?xml version='1.0'?><rss><channel><title>A talk</title></channel></rss>", ".xml"),
        ("<html><body><p>A page without times.</p></body></html>", ".html"),
        (
            "one 00:00:01\ntwo 00:00:02 x\nthree 00:00:03 y\nfour 00:00:04 z\nfive 00:00:05 w",
            ".txt",
        ),
        ("QUJD" * 40, ".txt"),
        (
            "CHAPTER01=00:00:00.000\nCHAPTER01NAME=One\nCHAPTER02=00:04:31.250\nCHAPTER02NAME=The shop",
            "",
        ),
        ("0:00 Intro\n4:31 The shop\n17:02 Lunch\n", ""),
        ("WEBVTT\n\n00:00.000 --> 04:31.000\nIntro\n\n04:31.000 --> 17:02.000\nThe shop\n", ".vtt"),
        (
            "From: Jo <jo@a.org>\nTo: tom@a.org\nSubject: Walls\n\nI will be at home on Thursday.\n",
            "",
        ),
        ("Von: Jo <jo@a.org>\nAn: Tom\nBetreff: Die Wand\n\nIch bin am Donnerstag zu Hause.\n", ""),
        (
            "<html><body><table><tr><td>Monday</td><td>09:00 - 18:00</td></tr><tr><td>Sunday</td>"
            "<td>10:00 - 14:00</td></tr></table><button>Go</button></body></html>",
            "",
        ),
        (f"# Walls\n\n{WALL}\n\n```\npip install walls\n```\n", ".md"),
        ("Milk\nEggs\nBread\nTwo lemons\nDish soap\n", ""),
        ("title: Walls\nauthor: Ann\ntags:\n  - stone\n  - brick\n", ""),
        ("1. Harbour Lights (3:45)\n2. The Monks (4:10)\n3. Boats (4:58)\n", ""),
        (
            'PERFORMER "Band"\nFILE "a.wav" WAVE\n  TRACK 01 AUDIO\n    TITLE "One"\n    INDEX 01 00:00:00\n'
            '  TRACK 02 AUDIO\n    TITLE "Two"\n    INDEX 01 04:31:00\n',
            "",
        ),
        (
            "[09:14:02] INFO Server started\n[09:14:03] INFO Ready\n[09:14:09] WARN Slow query\n"
            "[09:15:00] ERROR Refused by peer\n[09:15:02] INFO Retrying\n",
            "",
        ),
        (
            "CREATE TABLE boats (id INTEGER, name TEXT);\nINSERT INTO boats VALUES (1, 'Anna');\nINSERT INTO boats VALUES (2, 'Tom');\n",
            "",
        ),
        (
            "Day,Time,What,Price\nMo,09:12,Coffee,-3.20\nMo,12:40,Lunch,-14.00\nTu,08:01,Train,-7.60\n",
            "",
        ),
        ("0:00 Intro\n5:23 The magnet\n12:40 Rice\n21:05 Cleaning\n30:11 Verdict\n", ".txt"),
        (
            "function add(a) {\n  return a + 1;\n}\nconst x = add(1);\nconsole.log(x);\nreturn x;",
            ".txt",
        ),
        ("host = a\nport = 80\n[client]\nname = b\ntimeout = 30\nretries = 5\n", ".txt"),
        ("3000 8000 One.\n8000 9000 Two.\n9000 9500 Three.\n9500 9900 Four.\n9900 9990 Five.", ""),
        (
            "WEBVTT\n\n"
            + "".join(f'0:0{n}.000 --> 0:0{n + 1}.000\n{{"id": {n}}}\n\n' for n in range(6)),
            ".vtt",
        ),
    ],
)
def test_an_unknown_format_is_refused_with_the_known_ones(text: str, extension: str) -> None:
    with pytest.raises(PlacedError) as refusal:
        parse_transcript(text.encode(), extension)
    assert base.FORMATS in str(refusal.value)


def test_messages_with_days_are_no_transcript() -> None:
    with pytest.raises(PlacedError, match="no segment in it has words"):
        parse([{"created_at": f"2024-03-0{n}T09:12:00Z", "text": WALL} for n in (1, 2)])


def test_two_languages_in_one_file_are_refused() -> None:
    cues = "".join(f"<SYNC Start={n}000><P Class=ENCC>{WALL}<P Class=KRCC>박쥐는" for n in range(3))
    with pytest.raises(PlacedError, match=r"several languages \(ENCC, KRCC\)"):
        parse(f"<SAMI><BODY>{cues}</BODY></SAMI>")


def test_stops_with_a_space_before_them_are_no_rhythm() -> None:
    words = "एक दो तीन चार पांच छह सात आठ नौ दस ग्यारह बारह".split()
    text = "\n\n".join(
        f"{one} नावें हैं और {two} ।" for one, two in zip(words, reversed(words), strict=True)
    )
    assert parse(text).plain_text == text


def test_numbers_that_are_said_are_no_numbers_of_cues() -> None:
    counted = ["3", "2", "1", WALL, BATS]
    cues = (f"{clock(n)} --> {clock(n + 1)}\n{each}\n\n" for n, each in enumerate(counted))
    assert [text for _, text in said("".join(cues))] == counted


def test_truncated_xml_is_refused() -> None:
    xml = f'<transcript><text start="3">{WALL}</text><text start="9">{BATS}</text></transcript>'
    with pytest.raises(PlacedError, match="no XML"):
        parse(xml[:-20])


def test_music_alone_is_nothing_said() -> None:
    cues = [
        {"start": n, "end": n + 1, "text": text}
        for n, text in enumerate(["[Music]", "♪", "(sighs)"])
    ]
    with pytest.raises(cleaning.NothingSaidError, match=r"only \[Music\], ♪, \(sighs\)"):
        parse(cues)


def test_more_captions_than_any_talk_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "MAX_CUES", 9)
    with pytest.raises(PlacedError, match="10 captions, and a transcript at most 9"):
        parse([{"start": n, "end": n + 1, "text": f"Number {n} of them"} for n in range(10)])


RUSSIAN = "Великую китайскую стену видно с Луны.\nЛетучие мыши слепы."


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1251", RUSSIAN),
        ("koi8-r", RUSSIAN),
        ("iso8859-5", RUSSIAN),
        ("cp850", "Le mur est très visible, mais ça coûte très cher à réparer."),
        ("mac-roman", "Le mur est très visible, mais ça coûte très cher à réparer."),
        ("cp1250", "Portul a fost construit de călugări.\nÎncap două sute de bărci."),
        ("gb18030", "从月球上可以看到中国的长城。\n蝙蝠是瞎的，只用回声。"),
        ("shift_jis", "万里の長城は月から見えます。\nコウモリは目が見えません。"),
        ("euc_kr", "만리장성은 달에서 보입니다.\n박쥐는 눈이 멀었습니다."),
        ("cp1253", "Το Σινικό Τείχος είναι ορατό από τη Σελήνη."),
        ("cp1256", "سور الصين العظيم مرئي من القمر. الخفافيش عمياء."),
        ("cp1252", "Le mur est très visible, mais les chauves-souris sont aveugles à l'été."),
        (
            "cp1252",
            "Vous êtes là depuis combien d'années ?\nÇa fait vingt ans déjà, à cette place.",
        ),
        ("cp1250", "Velkou čínskou zeď je vidět z Měsíce.\nNetopýři jsou slepí."),
        (
            "cp1250",
            "A kínai nagy fal a Holdról is látszik.\nA denevérek vakok, és őszre elalszanak.",
        ),
        ("cp1254", "Çin Seddi Ay'dan görülebilir.\nYarasalar kördür ve kışın uyurlar."),
        (
            "cp1257",
            "Didžioji kinų siena matoma iš Mėnulio.\nŠikšnosparniai yra akli, o žiemą miega.",
        ),
    ],
)
def test_older_character_sets_are_told_by_their_words(encoding: str, words: str) -> None:
    text = f"1\n00:00:03,000 --> 00:00:08,000\n{words}\n"
    (cue,) = parse_transcript(text.encode(encoding)).cues
    assert cue.text == words.replace("\n", " ")


def test_a_text_that_was_decoded_with_a_wrong_charset_is_mended() -> None:
    for words, wrong in (("Le mur est très visible, à l'été.", "cp1252"), (RUSSIAN, "latin-1")):
        text = f"1\n00:00:03,000 --> 00:00:08,000\n{words}\n".encode().decode(wrong)
        assert parse_transcript(text.encode()).cues[0].text == words.replace("\n", " ")


def test_a_text_too_short_for_charset_detection_is_refused() -> None:
    with pytest.raises(PlacedError, match="could be iso8859-2 or cp1250; save it as UTF-8"):
        parse_transcript(
            "Přístav postavili mniši. Vejde se do něj dvě stě lodí.".encode("iso8859-2")
        )


# --- Time ---------------------------------------------------------------------------------------


def clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000"


LARGE: dict[str, Callable[[int], str]] = {
    "labels": lambda n: f"{clock(n)} --> {clock(n + 1)}\nANNA {n % 99}: &gt;&gt; words {n}\n\n",
    "rolling": lambda n: f"{clock(n)} --> {clock(n + 1)}\n{'a ' * 60}\n\n",
    "panel": lambda n: f"{n // 60}:{n % 60:02}\n{n} seconds\nwords {n} are said\n",
    "names": lambda n: f"Anna Berg {n // 60}:{n % 60:02}\nwords {n} are said\n\n",
    "headers": lambda n: f"WEBVTT\n\n00:00:0{n % 9}.000 --> 00:00:09.000\nwords {n}\n\n",
    "stamps": lambda n: "[0:01]",
    "tags": lambda n: "{1}{1}",
    "angles": lambda n: "<v a",
    "prose": lambda n: f"Anna: words {n} are said.\n",
    "sounds": lambda n: f"{clock(n)} --> {clock(n + 1)}\n(*♪#[{'(' * 40}\n\n",
    "overrides": lambda n: "{\\" if n else "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,,,0,0,0,,",
    "arrows": lambda n: "0: 0: ",
    "fields": lambda n: f"field{n}: words\n",
    "cells": lambda n: "|a",
    "objects": lambda n: f'{{"key{n}": {{"words": "a b", "at": {n}}}}}\n',
    "elements": lambda n: "<c start='1'><d>a b</d>",
    "links": lambda n: "[0:01](http://a",
    "bold names": lambda n: "**Ann ",
    "addresses": lambda n: ".@" if n else "Date: x\nTo: y\nFrom: ",
    "brackets": lambda n: "(" if n % 39_999 else f"{clock(n)} --> {clock(n + 1)}\n",
    "spaces": lambda n: " " * 999 + "\n" * (n % 2),
}


@pytest.mark.parametrize("piece", LARGE.values(), ids=LARGE.keys())
def test_a_large_file_takes_linear_time(piece: Callable[[int], str]) -> None:
    text = "".join(piece(n) for n in range(40_000 // len(piece(100))))
    began = time.process_time()
    with suppress(PlacedError):
        parse(text)
    # A tenth of a second on an idle core, or twenty if it is quadratic.
    assert time.process_time() - began < 4
