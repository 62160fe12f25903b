"""Chooses, opens and calibrates the small language model that reads pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from factible_assets.services.models import model_clients, model_registry, named_model
from factible_assets.settings import Settings
from resources.errors import SetupError
from resources.files import slug, write_whole
from resources.models.base import known_models, model_path, read_receipt

if TYPE_CHECKING:  # clients and arrays load slowly
    from factible_assets.reasoners.readers.calibration import Calibration
    from resources.llm.labels import LabelModel
    from resources.llm.limits import Budget
    from resources.storage.answers import DiskCache

LOCAL_READERS = ("reader", "reader-large")
"""The models that `factible models pull` fetches for this purpose, the best measured first."""


@dataclass(frozen=True, slots=True)
class ReadingModel:
    """A model that reads pages by label probabilities.

    `identity` is the key of its calibration: the SHA-256 of its file, or PROVIDER/MODEL. `folder`
    holds the file, and is None for a model of a server.
    """

    name: str
    identity: str
    folder: Path | None = None


def reading_model(settings: Settings) -> ReadingModel | None:
    """Return the model of the setting for the stage `reader`, else the first pulled one, else None.

    Raises SetupError: The setting names a model that was not pulled.
    """
    setting = settings.stage_models.get("reader")
    if setting is not None and setting not in LOCAL_READERS:
        return ReadingModel(setting, setting)
    for name in LOCAL_READERS if setting is None else (setting,):
        folder, receipt = model_path(settings.home, name), read_receipt(settings.home, name)
        if folder is not None and receipt is not None:
            title = known_models()[name].title if name in known_models() else receipt.title
            return ReadingModel(title, receipt.files[0].sha256 or name, folder)
    if setting is not None:
        raise SetupError(
            f"FACTIBLE_STAGE_MODELS names the reader {setting}, which is not on this machine. "
            f"Fetch it: factible models pull {setting}."
        )
    return None


def open_label_model(
    settings: Settings,
    model: ReadingModel,
    stack: AsyncExitStack,
    cache: DiskCache,
    budget: Budget | None = None,
) -> LabelModel:
    """Open a model with the cache; the stack closes it.

    Raises SetupError: The provider is unknown, or its key is invalid.
    """
    from resources.llm.labels import LabelModel
    from resources.storage.caching import CachingModel

    if model.folder is not None:
        from resources.llm.local import LocalServer, local_model

        place = model.folder.parent / ".serving" / model.folder.name
        server = LocalServer(model.folder / "model.gguf", place)
        opened = local_model(model.name, model.identity, server)
    else:
        registry = model_registry(settings)
        info = named_model(settings, registry, model.name)
        opened = model_clients(settings, registry).model(info.name, provider=info.provider)
    stack.push_async_callback(opened.aclose)
    return LabelModel(CachingModel(opened, cache, budget), model.name)


def calibration_of(settings: Settings, model: ReadingModel) -> Calibration | None:
    """Return the calibration for the current prompt, preferably one from this machine."""
    from factible_assets.reasoners.readers.calibration import SHIPPED, find_calibration
    from factible_assets.reasoners.readers.labels import labels_prompt

    folders = (calibrations(settings), SHIPPED)
    return find_calibration(model.identity, labels_prompt().version, folders)


def calibrations(settings: Settings) -> Path:
    return settings.home / "calibrations"


async def calibrate(
    settings: Settings,
    model: ReadingModel,
    cache: DiskCache,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[Calibration, Path]:
    """Fit a model's calibration on the pairs of the project, and store it.

    `on_progress` gets the number of answered pairs and of all pairs. The cache keeps answers, so an
    interrupted fit resumes.

    Raises:
        ModelError: The model failed, or returns no probabilities.
        SetupError: The provider is unknown, or its key is invalid.
    """
    from factible_assets.reasoners.readers.calibration import Calibration, cross_validate, fit
    from factible_assets.reasoners.readers.labels import LabelQuestion, labels_prompt
    from factible_assets.reasoners.readers.pairs import DATA, answer_pairs, shipped_pairs

    pairs, prompt = shipped_pairs(), labels_prompt()
    async with AsyncExitStack() as stack:
        opened = open_label_model(settings, model, stack, cache)
        question = LabelQuestion(opened, prompt)
        answered = await answer_pairs(question, pairs, lambda done: on_progress(done, len(pairs)))
    fitted = Calibration(
        model=model.name,
        identity=model.identity,
        prompt_version=prompt.version,
        fitted_on=datetime.now(UTC).date(),
        data=DATA,
        pairs=len(pairs),
        figures=cross_validate(answered),
        **fit(answered).model_dump(),
    )
    path = calibrations(settings) / f"{slug(model.name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{fitted.model_dump_json(indent=2)}\n".encode())
    return fitted, path
