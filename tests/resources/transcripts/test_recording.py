"""Recordings: their speech, progress, and refused files."""

from __future__ import annotations

import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.transcripts import recording
from resources.transcripts.base import Caption, Found, Missing
from resources.transcripts.json_and_tables import captions_of_words
from resources.transcripts.recording import RecordingTranscript, is_recording, missing_requirement
from tests.speech import SPEECH, needs_whisper, weights


async def heard(path: Path, language: str | None = None) -> Found | Missing:
    return await RecordingTranscript(path, weights(), language).transcript("talk")


@needs_whisper
async def test_speech_becomes_sentences_with_times_and_a_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "_REPORT_SECONDS", 0.01)
    told: list[tuple[str, float]] = []
    provider = RecordingTranscript(SPEECH, weights(), on_progress=lambda *each: told.append(each))
    answer = await provider.transcript("talk")
    assert isinstance(answer, Found)
    cues = answer.transcript.cues
    assert "great wall of china is not visible" in cues[0].text.lower()
    assert "goldfish" in " ".join(cue.text for cue in cues).lower()
    starts = [cue.start_seconds or 0.0 for cue in cues]
    assert starts == sorted(starts)
    assert len(cues) > 1
    assert 7 < starts[-1] + cues[-1].duration_seconds < 11
    assert (answer.transcript.language, answer.transcript.kind) == ("en", "generated")
    assert told[0][0].startswith("recognising speech")
    assert any(words.endswith("of 0:10") for words, _ in told)


@needs_whisper
async def test_a_recording_in_which_nobody_speaks_says_so(tmp_path: Path) -> None:
    file = tmp_path / "silence.wav"
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, 16_000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * 16_000 * 3))
    assert await heard(file) == Missing("silence.wav: nobody speaks in this recording.")


@needs_whisper
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (SPEECH.read_bytes()[:15_000], "is cut off: it should last 10 seconds and has 4"),
        (f"#EXTM3U\n#EXTINF:10,\n{SPEECH}\n".encode(), "cannot be read"),
        (f"ffconcat version 1.0\nfile {SPEECH}\n".encode(), "cannot be read"),
        (b"\x00\xff" * 5_000, "cannot be read"),
        (b"", "cannot be read"),
    ],
)
async def test_damaged_recordings_and_playlists_are_refused(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "talk.mp3"
    file.write_bytes(content)
    answer = await heard(file)
    assert isinstance(answer, Missing)
    assert answer.reason.startswith("talk.mp3: ")
    assert sentence in answer.reason


@needs_whisper
async def test_a_recording_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_HOURS", 0.001)
    answer = await heard(SPEECH)
    assert isinstance(answer, Missing)
    assert "Divide it" in answer.reason


@needs_whisper
async def test_a_model_for_english_does_not_guess_another_language() -> None:
    answer = await heard(SPEECH, "de-AT")
    assert isinstance(answer, Missing)
    assert "'de'" in answer.reason
    assert "factible models pull whisper" in answer.reason


@needs_whisper
async def test_a_damaged_model_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"none")
    answer = await RecordingTranscript(SPEECH, tmp_path).transcript("talk")
    assert isinstance(answer, Missing)
    assert "The speech model cannot be loaded" in answer.reason


async def test_a_missing_model_names_the_command_that_fetches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "find_spec", lambda _: object())
    answer = await RecordingTranscript(SPEECH, None).transcript("talk")
    assert isinstance(answer, Missing)
    assert "factible models pull whisper" in answer.reason
    monkeypatch.setattr(recording, "find_spec", lambda _: None)
    assert "pip install 'faster-whisper" in (missing_requirement(None) or "")


@pytest.mark.parametrize("name", ["talk.mp3", "TALK.MP4", "a.m4a", "a.wav", "a.webm"])
def test_recordings_are_known_by_their_names(name: str) -> None:
    assert is_recording(Path(name))
    assert not is_recording(Path(name).with_suffix(".vtt"))


@needs_whisper
def test_a_long_recording_is_split_at_silences() -> None:
    import numpy as np  # noqa: PLC0415 - as the recogniser does

    sound = np.full(16_000 * 1_500, 9_000, dtype=np.int16)
    silence = 16_000 * 585
    sound[silence : silence + 16_000] = 0
    found = list(recording.chunks_of(sound))
    assert [len(stretch) <= 16_000 * 600 for _, stretch in found] == [True] * len(found)
    assert sum(len(stretch) for _, stretch in found) == len(sound)
    assert 585 < found[1][0] < 586


@needs_whisper
async def test_times_go_on_from_one_stretch_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_CHUNK_SECONDS", 6)
    monkeypatch.setattr(recording, "_CUT_SECONDS", 3)
    answer = await heard(SPEECH)
    assert isinstance(answer, Found)
    said = {cue.text.split()[0]: cue.start_seconds for cue in answer.transcript.cues}
    assert 5 < (said["Goldfish"] or 0.0) < 7


words = st.tuples(
    st.sampled_from([" Bats", " sleep.", "...", " 3", ".5"]), st.floats(0, 20), st.floats(0, 20)
)


@given(st.lists(words))
def test_captions_have_every_word_once_in_order(timed: list[tuple[str, float, float]]) -> None:
    at, said = 0.0, []
    for word, pause, lasts in timed:
        said.append(Caption(word, at + pause, at + pause + lasts))
        at += pause + lasts
    captions = captions_of_words(said)
    assert "".join(caption.text for caption in captions).replace(" ", "") == "".join(
        word for word, _, _ in timed
    ).replace(" ", "")
    assert [each.start for each in captions] == sorted(each.start or 0.0 for each in captions)
    assert all(each.end >= (each.start or 0.0) for each in captions)
