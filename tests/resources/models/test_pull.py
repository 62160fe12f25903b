"""Fetching models from a hub that works, fails, breaks off, or sends wrong files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from pydantic import ValidationError

from resources.http import RetryPolicy
from resources.models.base import (
    ManifestModel,
    ModelPullError,
    ModelStoreError,
    Receipt,
    known_models,
    model_path,
    read_manifest,
    read_receipt,
)
from resources.models.hub import Hub, _locked, add_model, pull_model, remove_model
from tests.resources.models.hub_server import COMMIT, CONFIG, MODEL, TOKENIZER, WEIGHTS, FakeHub
from tests.servers import MisbehavingServer, hang, reset

QUICK = RetryPolicy(attempts=3, first_delay_seconds=0.01, max_delay_seconds=0.02)


@pytest.fixture
def hub(server: MisbehavingServer) -> FakeHub:
    return FakeHub(server)


async def pull(hub: FakeHub, home: Path, model: ManifestModel = MODEL) -> Receipt:
    async with Hub(hub.url, retry=QUICK, read_seconds=1.0) as line:
        return await pull_model(home, line, model)


def partial(home: Path) -> list[str]:
    folder = home / "models" / ".partial" / "nli"
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


async def test_a_model_is_fetched_whole_with_a_receipt(hub: FakeHub, tmp_path: Path) -> None:
    assert model_path(tmp_path, "nli") is None
    receipt = await pull(hub, tmp_path)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    assert (folder / "model.onnx").read_bytes() == WEIGHTS
    assert (folder / "tokenizer.json").read_bytes() == TOKENIZER
    assert (folder / "config.json").read_bytes() == CONFIG
    assert receipt == read_receipt(tmp_path, "nli")
    assert (receipt.commit, receipt.licence) == (COMMIT, "Apache-2.0")
    assert receipt.files[0].sha256 == hashlib.sha256(WEIGHTS).hexdigest()
    assert partial(tmp_path) == []


async def test_a_broken_download_resumes(hub: FakeHub, tmp_path: Path) -> None:
    hub.break_after = [100_000, 200_000, 50_000, 70_000, 10_000]
    await pull(hub, tmp_path)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    assert (folder / "model.onnx").read_bytes() == WEIGHTS
    ranges = [
        asked.headers["range"]
        for asked in hub.server.asked
        if "cdn" in asked.path and "range" in asked.headers
    ]
    assert len(ranges) == 5, "more often than it may fail without coming further"
    assert ranges[0] == "bytes=100000-"


async def test_a_later_pull_resumes_an_earlier_one(hub: FakeHub, tmp_path: Path) -> None:
    hub.break_after = [300_000]
    hub.refuse = lambda path: 503 if "cdn" in path and hub.asked("cdn") > 1 else None
    with pytest.raises(ModelPullError, match="it resumes"):
        await pull(hub, tmp_path)
    assert model_path(tmp_path, "nli") is None
    assert len(partial(tmp_path)) == 1
    hub.refuse = lambda path: None
    before = len(hub.server.asked)
    await pull(hub, tmp_path)
    again = [asked for asked in hub.server.asked[before:] if "cdn" in asked.path]
    assert [asked.headers.get("range") for asked in again] == ["bytes=300000-"]
    assert model_path(tmp_path, "nli") is not None


async def test_checked_files_are_not_fetched_again(hub: FakeHub, tmp_path: Path) -> None:
    hub.refuse = lambda path: 404 if "resolve-cache/config" in path else None
    with pytest.raises(ModelPullError, match="404"):
        await pull(hub, tmp_path)
    hub.refuse = lambda path: 503 if "resolve-cache/config" in path and hub.asked("cdn") else None
    with pytest.raises(ModelPullError, match="503"):
        await pull(hub, tmp_path)
    hub.refuse = lambda path: None
    await pull(hub, tmp_path)
    assert hub.asked("cdn") <= 1


async def test_a_server_without_ranges_restarts_the_download(hub: FakeHub, tmp_path: Path) -> None:
    hub.ranges = False
    hub.break_after = [300_000]
    await pull(hub, tmp_path)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    assert (folder / "model.onnx").read_bytes() == WEIGHTS


@pytest.mark.parametrize("name", ["onnx/model.onnx", "config.json"])
async def test_a_wrong_file_is_kept_as_rejected_and_not_used(
    hub: FakeHub, tmp_path: Path, name: str
) -> None:
    def flip(path: str, body: bytes) -> bytes:
        return bytes([body[0] ^ 1]) + body[1:] if path == name else body

    hub.spoil = flip
    with pytest.raises(ModelPullError, match="It is kept as"):
        await pull(hub, tmp_path)
    assert model_path(tmp_path, "nli") is None
    assert f"{Path(name).name}.rejected" in partial(tmp_path)
    hub.spoil = lambda path, body: body
    await pull(hub, tmp_path)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    assert sorted(file.name for file in folder.iterdir()) == [
        "config.json",
        "model.onnx",
        "receipt.json",
        "tokenizer.json",
    ]


async def test_a_file_longer_than_announced_is_rejected_early(hub: FakeHub, tmp_path: Path) -> None:
    hub.spoil = lambda path, body: body + bytes(5_000_000) if "onnx" in path else body
    with pytest.raises(ModelPullError, match="more than its 700,000 bytes"):
        await pull(hub, tmp_path)
    rejected = tmp_path / "models" / ".partial" / "nli" / "model.onnx.rejected"
    assert rejected.stat().st_size < len(WEIGHTS) + 1_000_000


async def test_a_file_shorter_than_announced_is_never_complete(
    hub: FakeHub, tmp_path: Path
) -> None:
    hub.spoil = lambda path, body: body[:1000] if "onnx" in path else body
    with pytest.raises(ModelPullError):
        await pull(hub, tmp_path)
    assert model_path(tmp_path, "nli") is None


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "onnx/model.onnx cannot be fetched: .* answered 404 Not Found"),
        (401, "answered 401"),
        (500, "answered 500"),
        (429, "answered 429"),
    ],
)
async def test_every_refusal_is_named_with_its_status(
    hub: FakeHub, tmp_path: Path, status: int, words: str
) -> None:
    hub.refuse = lambda path: status
    with pytest.raises(ModelPullError, match=words):
        await pull(hub, tmp_path)


@pytest.mark.parametrize("behaviour", [reset(), hang(5.0)], ids=["reset", "hang"])
async def test_a_hub_that_fails_is_named_with_the_remedy(
    tmp_path: Path, behaviour: object, server: MisbehavingServer
) -> None:
    server.on("*", behaviour)  # type: ignore[arg-type]  # parametrize loses the type
    line = Hub(f"http://127.0.0.1:{server.port}", retry=QUICK, read_seconds=0.2)
    async with line:
        with pytest.raises(ModelPullError, match="did not give onnx/model"):
            await pull_model(tmp_path, line, MODEL)


async def test_a_hub_that_does_not_listen_is_a_sentence(tmp_path: Path) -> None:
    async with Hub("http://127.0.0.1:9", retry=QUICK) as line:
        with pytest.raises(ModelPullError, match="Check the network"):
            await pull_model(tmp_path, line, MODEL)


@pytest.mark.parametrize(
    "address", ["http://hub.example", "ftp://hub.example", "hub.example", "http://", ""]
)
def test_a_hub_elsewhere_is_asked_by_https_only(address: str) -> None:
    with pytest.raises(ModelPullError, match="FACTIBLE_ENDPOINTS"):
        Hub(address)


@pytest.mark.parametrize(
    "target",
    [
        "http://cdn.example/model.onnx",
        "https://10.0.0.1/cdn/onnx/model.onnx",
        "https://169.254.169.254/latest/meta-data",
        "http://localhost:{port}/cdn/onnx/model.onnx",
        "file:///etc/passwd",
    ],
)
async def test_redirects_to_private_addresses_or_without_https_are_refused(
    hub: FakeHub, tmp_path: Path, target: str
) -> None:
    hub.elsewhere = target.format(port=hub.server.port)
    with pytest.raises(ModelPullError, match=r"not fetched|no connection|could not be resolved"):
        await pull(hub, tmp_path)
    assert hub.asked("cdn") == 0
    assert model_path(tmp_path, "nli") is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
async def test_a_full_disk_is_a_clear_error(hub: FakeHub, tmp_path: Path) -> None:
    part = tmp_path / "models" / ".partial" / "nli"
    part.mkdir(parents=True)
    name = f"model.onnx.{hashlib.sha256(WEIGHTS).hexdigest()[:16]}.part"
    (part / name).symlink_to("/dev/full")
    with pytest.raises(ModelStoreError, match="No space left"):
        await pull(hub, tmp_path)


async def test_a_folder_that_cannot_be_made_is_a_sentence(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file stands here")
    with pytest.raises(ModelStoreError, match="is not writable"):
        await pull(hub, tmp_path)


async def test_a_pull_replaces_the_old_model_only_when_complete(
    hub: FakeHub, tmp_path: Path
) -> None:
    await pull(hub, tmp_path)
    newer = WEIGHTS[::-1]
    hub.large["onnx/model.onnx"] = newer
    first, *others = MODEL.files
    first = first.model_copy(update={"sha256": hashlib.sha256(newer).hexdigest()})
    next_one = MODEL.model_copy(update={"files": (first, *others)})
    hub.refuse = lambda path: 503 if "cdn" in path else None
    with pytest.raises(ModelPullError):
        await pull(hub, tmp_path, next_one)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    assert (folder / "model.onnx").read_bytes() == WEIGHTS
    hub.refuse = lambda path: None
    await pull(hub, tmp_path, next_one)
    assert (folder / "model.onnx").read_bytes() == newer


async def test_a_model_that_lost_a_file_is_not_there(hub: FakeHub, tmp_path: Path) -> None:
    await pull(hub, tmp_path)
    folder = model_path(tmp_path, "nli")
    assert folder is not None
    (folder / "tokenizer.json").write_bytes(b"{}")
    assert model_path(tmp_path, "nli") is None


async def test_a_model_is_removed_with_what_was_left_of_pulls(hub: FakeHub, tmp_path: Path) -> None:
    assert not remove_model(tmp_path, "nli")
    await pull(hub, tmp_path)
    assert remove_model(tmp_path, "nli")
    assert model_path(tmp_path, "nli") is None
    assert not (tmp_path / "models" / "nli").exists()


async def test_two_pulls_of_one_model_do_not_mix(hub: FakeHub, tmp_path: Path) -> None:
    with (
        _locked(tmp_path / "models", "nli"),
        pytest.raises(ModelStoreError, match="Another process"),
    ):
        await pull(hub, tmp_path)
    await pull(hub, tmp_path)


def test_the_known_models_are_open_pinned_and_of_the_hub() -> None:
    models = known_models()
    assert set(models) == {"nli", "reader", "reader-large", "whisper", "whisper-en"}
    assert {model.licence for model in models.values()} <= {"Apache-2.0", "MIT", "BSD-3-Clause"}
    Hub("https://huggingface.co")


@pytest.mark.parametrize(
    "entry",
    [
        "path: ../../etc/passwd\n      save_as: model.onnx",
        "path: /etc/passwd\n      save_as: model.onnx",
        "path: model.onnx\n      save_as: ../model.onnx",
        "path: model.onnx\n      save_as: .hidden",
        "path: model.onnx\n      save_as: model.onnx\n      sha256: beef",
        "path: model.onnx\n      save_as: model.onnx\n      bytes: 0",
    ],
)
def test_a_manifest_cannot_lead_out_of_its_folder(entry: str) -> None:
    text = (
        f"nli:\n  title: t\n  purpose: p\n  repo: a/b\n  revision: {COMMIT}\n  licence: MIT\n"
        f"  source: s\n  files:\n    - {entry}\n"
    )
    with pytest.raises(ValidationError):
        read_manifest(text)


@pytest.mark.parametrize("text", ["", "- a", "nli: 3"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read_manifest(text)


# --- From files on this machine -----------------------------------------------------------------


def lying(folder: Path, **files: bytes) -> list[Path]:
    paths = [folder / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return paths


def test_a_model_can_be_added_from_files_of_any_name(tmp_path: Path) -> None:
    files = lying(tmp_path, a=CONFIG, b=WEIGHTS, c=TOKENIZER)
    home = tmp_path / "home"
    receipt = add_model(home, MODEL, files)
    place = model_path(home, "nli")
    assert place is not None
    assert (place / "model.onnx").read_bytes() == WEIGHTS
    assert (place / "config.json").read_bytes() == CONFIG
    assert receipt == read_receipt(home, "nli")
    assert files[1].read_bytes() == WEIGHTS


def test_another_file_is_not_put_in_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(ModelPullError, match=r"wrong is no file of tiny inference: its SHA-256"):
        add_model(home, MODEL, lying(tmp_path, wrong=WEIGHTS[:-1] + b"!"))
    assert model_path(home, "nli") is None


def test_a_model_is_not_put_in_place_in_part(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(ModelPullError, match=r"also needs tokenizer\.json, config\.json"):
        add_model(home, MODEL, lying(tmp_path, one=WEIGHTS))
    assert model_path(home, "nli") is None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelPullError, match=r"no file .*nowhere.* needs onnx/model\.onnx"):
        add_model(tmp_path / "home", MODEL, [tmp_path / "nowhere"])
