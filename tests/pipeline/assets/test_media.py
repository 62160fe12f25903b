"""The asset `media` as Dagster runs it: a real file, a real server, rows, and the report's part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import dagster as dg
import pytest
from PIL import Image
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from factible_assets.cli.main import app
from factible_assets.definitions import build_defs
from factible_assets.report.data import read_report_data
from factible_assets.report.render import render_report
from factible_assets.services.media import media_services
from resources.errors import SetupError
from resources.images.services import GoogleVision, Sightengine
from tests.pipeline.assets.conftest import Checked

if TYPE_CHECKING:
    from factible_assets.stages.media import MediaServices
    from factible_assets.stages.ports import Fetcher
    from resources.http import HttpClient

OWN = "own-talk"
CORPUS = """\
corpus: pictures
web: miniature
videos:
  - id: own-talk
    title: A talk
    published_on: 2024-05-01
    transcript: talk.txt
    media: still.jpg
"""


def factible(checked: Checked, *arguments: str) -> Result:
    environment = {"FACTIBLE_HOME": str(checked.settings.home)}
    return CliRunner().invoke(app, [*arguments], env=environment, prog_name="factible")


def test_pictures_of_a_video_become_hints_in_the_warehouse_and_the_report(checked: Checked) -> None:
    folder = checked.settings.home_corpora
    folder.mkdir(exist_ok=True)
    (folder / "talk.txt").write_text("Goldfish forget everything after three seconds.")
    Image.new("RGB", (64, 48), "grey").save(folder / "still.jpg")
    (folder / "pictures.yaml").write_text(CORPUS)
    defs = build_defs(checked.settings)
    instance = checked.instance
    instance.add_dynamic_partitions("videos", [OWN])
    early = factible(checked, "media", OWN)
    assert "was not checked yet. Check it first: factible check -- own-talk" in early.output
    chosen = [defs.resolve_assets_def("transcripts")]
    assert dg.materialize(chosen, partition_key=OWN, instance=instance).success
    told = factible(checked, "media", OWN, "--json")
    assert told.exit_code == 0, told.output
    assert {row["kind"] for row in json.loads(told.stdout)["findings"]} >= {"metadata", "match"}
    data = read_report_data(checked.store, OWN)
    assert data is not None
    rows = data.media
    assert [(row.picture, row.kind, row.status) for row in rows] == [
        ("still.jpg", "deepfake", "skipped"),
        ("still.jpg", "error_level", "ok"),
        ("still.jpg", "match", "skipped"),
        ("still.jpg", "metadata", "ok"),
    ]
    page = render_report(data)[0]
    assert "Pictures of the video" in page
    assert "64 by 48 pixels." in page


def test_the_keys_decide_which_services_examine_pictures(checked: Checked) -> None:
    def asked(**keys: str) -> MediaServices:
        settings = checked.settings.model_copy(
            update={f"{name}_api_key": SecretStr(key) for name, key in keys.items()}
        )
        return media_services(settings, cast("HttpClient", None), cast("Fetcher", None))

    assert (asked().reverse, asked().deepfakes) == (None, None)
    both = asked(google_vision="key", sightengine="user:secret")
    assert isinstance(both.reverse, GoogleVision)
    assert isinstance(both.deepfakes, Sightengine)
    with pytest.raises(SetupError, match="write SIGHTENGINE_API_KEY as USER:SECRET"):
        asked(sightengine="no-colon")
