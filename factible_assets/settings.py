"""The settings of this machine: data folder, keys, defaults. config.py has the options of one run.

The sources, weakest first: defaults, `.env` beside workspace.yaml (else in the working folder),
`.env` in the data folder, environment variables, arguments. `.env.example` describes them all.

A working folder may come from a stranger. So addresses, programs, schedules and deletion come
from the environment, or from the `.env` of a data folder that the environment names. A warning
names the variables that were left out elsewhere.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from factible_assets.config import JudgementOptions, StageConfig, TwoLetters, Web, listed
from factible_assets.errors import ExitCode, FactibleError
from resources.llm.base import Effort
from resources.setting_values import expanded, host_and_port, ollama_address, paired, web_address
from resources.text_files import errors_naming, read_text, reason_of

if TYPE_CHECKING:
    from resources.storage.answers import CachePolicy
    from warehouse.connection import Connector

PACKAGE_PARENT = Path(__file__).resolve().parent.parent
"""The folder that holds the packages: the project, or site-packages."""
_EXAMPLES = (Path(__file__).with_name(".env.example"), PACKAGE_PARENT / ".env.example")
EXAMPLE = next((file for file in _EXAMPLES if file.is_file()), _EXAMPLES[1])
"""The file that describes every setting: in the wheel, or in the project."""


SearchProvider = Literal["serper", "searxng", "semantic_scholar", "wikipedia", "perplexity"]
"""The search providers of the live web, in the order of their answers."""

_MODEL_STAGES = ("claims", "queries", "evidence", "verdicts", "judge", "reader")
"""Work with a model of its own: the judgements, `factible judge`, and reading by labels."""
_ModelStage = Annotated[str, Field(pattern=f"^({'|'.join(_MODEL_STAGES)})$")]

Endpoint = Literal[
    "serper", "semantic_scholar", "wikipedia", "perplexity", "jina", "google_fact_check", "youtube",
    "rdap", "wayback", "google_vision", "sightengine", "thumbnails", "hugging_face",
]  # fmt: skip
"""Services that may have another address, such as a gateway or a mirror."""

RESTRICTED: Final = "not from a working folder"
"""Marks the settings that name an address or a program, spend, delete, or let somebody in."""

_PREFIX = "FACTIBLE_"
_PREFIXES = (_PREFIX, "WEBSHARE_PROXY_")
"""Variables with these prefixes can only be meant for this program."""
_NO_SETTINGS = {"FACTIBLE_DEBUG", "FACTIBLE_BROKER", "FACTIBLE_DAGSTER_POSTGRES"}
"""Variables that the command line and the files in deploy/ read themselves."""

TRANSLATED = "translated"
"""Among the languages of captions: YouTube's machine translations, if there are no others."""

_PROBLEM_WORDS = {
    "bool_parsing": "write true or false",
    "string_pattern_mismatch": f"its names are {', '.join(_MODEL_STAGES)}",
}
"""Plainer words on some types of pydantic's problems."""

NIGHTLY = "0 2 * * *"
"""The time of re-checks unless the setting names another: services answer faster at night."""


def variable(field: str) -> str:
    """Return the variable of a field. Keys and the settings of vendors have the vendors' names."""
    if field == "warehouse_location":
        return "FACTIBLE_WAREHOUSE"
    is_common = field.endswith("_api_key") or field.startswith(("openai_", "ollama_"))
    return field.upper() if is_common else f"FACTIBLE_{field.upper()}"


Listed = Annotated[tuple[str, ...], BeforeValidator(listed)]
Paired = BeforeValidator(paired)
UserPath = Annotated[Path, AfterValidator(expanded)]
WebAddress = Annotated[str, AfterValidator(web_address)]
OllamaAddress = Annotated[str, AfterValidator(ollama_address)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _begins_with_a_language(value: tuple[str, ...]) -> tuple[str, ...]:
    if value[:1] in {(), (TRANSLATED,)}:
        raise ValueError("name a language first")
    return value


class SettingsError(FactibleError):
    code = ExitCode.ENVIRONMENT


class CostLimits(StageConfig):
    """Ceilings of the cost of models: of one video within a run, and of a run."""

    video: Dollars | None = None
    run: Dollars | None = None


class NightLimits(StageConfig):
    """Limits of re-checks, mostly those of one night; `batch_hours` is for OpenAI's batches."""

    videos: int = Field(20, ge=0, le=10**6)
    cost_usd: Dollars | None = 1.0
    min_age_days: float = Field(7, ge=0, le=3650)
    batch_hours: float = Field(0, ge=0, le=72)


def default_home() -> Path:
    """Return `data` beside the nearest workspace.yaml at or above the working folder, or in it."""
    here = Path.cwd().resolve()
    projects = (path for path in (here, *here.parents) if (path / "workspace.yaml").is_file())
    return next(projects, here) / "data"


def _env_files(home: Path) -> list[Path]:
    """Return the existing `.env` files, the strongest first."""
    folders = dict.fromkeys((home.resolve(), default_home().parent.resolve()))
    return [folder / ".env" for folder in folders if (folder / ".env").is_file()]


def _read(file: Path) -> dict[str, str]:
    """Return the variables of a `.env` with a value, their names in capitals. Nothing is expanded.

    A logged warning names lines that are not NAME=VALUE. Raises SettingsError: It cannot be read.
    """
    with errors_naming(file, SettingsError):
        variables = dotenv_values(stream=StringIO(read_text(file)), interpolate=False)
    return {name.upper(): value for name, value in variables.items() if value}


def _from_env_files(stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the `.env` files by field; `stronger` sources have set other fields.

    The function leaves out restricted settings of a working folder. A warning names those that no
    other source sets.
    """
    fields = Settings.model_fields
    try:
        home = Path(stronger.get("home") or default_home()).expanduser().resolve()
    except (RuntimeError, ValueError):  # the field's validator reports it
        home = default_home().resolve()
    found: dict[str, Any] = {}
    for file in _env_files(home):
        variables = _read(file)
        values = {name: variables[variable(name)] for name in fields if variable(name) in variables}
        if file.parent != home or not is_named(home):
            restricted = [name for name in values if RESTRICTED in fields[name].metadata]
            values = {name: value for name, value in values.items() if name not in restricted}
            left_out = [variable(name) for name in restricted if name not in {**stronger, **found}]
            if left_out:
                _warn(
                    f"{file}: left out {', '.join(left_out)}. The .env of a working folder sets no "
                    "addresses, programs, schedules or deletion. Set them in the environment, or "
                    "in the .env of a data folder that FACTIBLE_HOME names in the environment."
                )
        found = {**values, **found}
    return found


@cache
def _warn(sentence: str) -> None:
    """Log a warning, once per process."""
    logging.getLogger(__name__).warning(sentence)


def is_named(home: Path) -> bool:
    """Tell whether the user named this data folder; the default one is the working folder's."""
    return bool(os.environ.get("FACTIBLE_HOME")) or home.resolve() != default_home().resolve()


def unknown_variables() -> str:
    """Return a sentence on each variable that is named like a setting and is none."""
    known = {variable(name) for name in Settings.model_fields}
    files = map(_read, _env_files(load_settings().home))
    names = {name for variables in (os.environ, *files) for name in variables}
    # With their common prefix, any two names would look alike.
    bare = {name.removeprefix(_PREFIX): name for name in known}
    sentences = []
    for name in sorted(names - known - _NO_SETTINGS):
        if name.upper().startswith(_PREFIXES):
            near = get_close_matches(name.upper().removeprefix(_PREFIX), bare, n=1, cutoff=0.8)
            remedy = f"Did you mean {bare[near[0]]!r}?" if near else f"See {EXAMPLE}."
            sentences.append(f"{name!r} is no setting. {remedy}")
    return " ".join(sentences)


class _InHome:
    """A path in the data folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, settings: Settings, owner: type[Settings]) -> Path:
        return settings.home / self.name


class Settings(BaseModel):
    """The settings of one machine; `.env.example` describes each."""

    # The value of a wrong variable may be a key, so errors do not repeat it.
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    archive: ClassVar[_InHome] = _InHome("archive.sqlite")
    dagster_home: ClassVar[_InHome] = _InHome("dagster")
    reports: ClassVar[_InHome] = _InHome("reports")
    experiments: ClassVar[_InHome] = _InHome("experiments")
    cache: ClassVar[_InHome] = _InHome("cache")
    prompts: ClassVar[_InHome] = _InHome("prompts")
    home_corpora: ClassVar[_InHome] = _InHome("corpora")

    home: Annotated[UserPath, RESTRICTED] = Field(default_factory=default_home)
    warehouse_location: Annotated[SecretStr | None, RESTRICTED] = None
    lake_data: Annotated[str | None, RESTRICTED] = None
    web: Web = "auto"

    # Language models.
    openai_api_key: SecretStr | None = None
    openai_base_url: Annotated[WebAddress | None, RESTRICTED] = Field(None, repr=False)
    ollama_host: Annotated[OllamaAddress | None, RESTRICTED] = Field(None, repr=False)
    model: str | None = None
    stage_models: Annotated[dict[_ModelStage, str], Paired] = {}
    model_api_keys: Annotated[dict[str, SecretStr], Paired] = {}
    reasoners: Annotated[JudgementOptions, Paired] = JudgementOptions()
    reasoning_effort: Effort | None = None
    answer_language: TwoLetters | None = None
    prompt_files: Annotated[UserPath | None, RESTRICTED] = None
    keep_prompts: float = Field(0, ge=0, le=3650)
    budget_usd: Annotated[CostLimits, Paired] = CostLimits()

    # Search, prior fact checks, pages, and pictures for the asset `media`.
    search: Annotated[tuple[SearchProvider, ...], BeforeValidator(listed)] = ()
    serper_api_key: SecretStr | None = None
    searxng_url: Annotated[WebAddress | None, RESTRICTED] = Field(None, repr=False)
    semantic_scholar_api_key: SecretStr | None = None
    perplexity_api_key: SecretStr | None = None
    google_fact_check_api_key: SecretStr | None = None
    google_vision_api_key: SecretStr | None = None
    sightengine_api_key: SecretStr | None = None
    pages: Literal["direct", "direct+wayback", "jina"] = "direct"
    jina_api_key: SecretStr | None = None
    browser: Annotated[str, RESTRICTED] = "auto"
    caching: bool = True

    # YouTube, and addresses.
    languages: Annotated[Listed, AfterValidator(_begins_with_a_language)] = ("en", "en-US")
    youtube_proxy: Annotated[SecretStr | None, RESTRICTED] = None
    endpoints: Annotated[dict[Endpoint, WebAddress], Paired, RESTRICTED] = Field({}, repr=False)
    hosts: Annotated[
        dict[str, Annotated[tuple[str, int], BeforeValidator(host_and_port)]], Paired, RESTRICTED
    ] = {}

    # Re-checks, retention and notifications.
    recheck_schedule: Annotated[str, RESTRICTED] = "off"
    recheck_limits: Annotated[NightLimits, Paired, RESTRICTED] = NightLimits()
    retention_days: Annotated[float, RESTRICTED] = Field(180, ge=1, le=36_500)
    notify_url: Annotated[WebAddress | None, RESTRICTED] = Field(None, repr=False)

    # Reviews, and the HTTP service.
    reviewer: str | None = None
    organisation: str | None = Field(None, max_length=200)
    ruling_scale: str = "factible"
    public_url: Annotated[WebAddress | None, RESTRICTED] = None
    serve_token: Annotated[SecretStr | None, RESTRICTED] = None
    serve_origins: Annotated[Listed, RESTRICTED] = ()
    serve_videos_per_day: int | None = Field(None, ge=0)

    @field_validator("home")
    @classmethod
    def _home_is_a_whole_path_of_a_folder(cls, value: Path) -> Path:
        home = Path.cwd() / value
        existing = next(path for path in (home, *home.parents) if os.path.lexists(path))
        if existing.exists() and not existing.is_dir():
            raise ValueError(f"{existing} is not a folder; name a folder, which may be a new one")
        return home

    @model_validator(mode="before")
    @classmethod
    def _with_the_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Add the values of the environment and of the `.env` files to the arguments."""
        environment = {name: os.environ.get(variable(name)) for name in cls.model_fields}
        stronger = {name: value for name, value in environment.items() if value} | given
        return _from_env_files(stronger) | stronger

    def secret(self, field: str) -> str:
        """Return a setting in plain text, empty if it is not set."""
        value = getattr(self, field)
        return value.get_secret_value() if isinstance(value, SecretStr) else value or ""

    def own_file(self, name: str) -> Path | None:
        """Return a file of the data folder that may name addresses or code, None if there is none.

        Raises SettingsError: It lies in the working folder's data folder, which the user did not
        name, so a stranger may have written it.
        """
        path = self.home / name
        if not path.is_file():
            return None
        if not is_named(self.home):
            raise SettingsError(
                f"{path} may name addresses or code, and lies in a data folder that nobody named.",
                f"If the file is yours, set FACTIBLE_HOME={self.home} in the environment.",
            )
        return path

    @property
    def warehouse(self) -> Connector:
        """The live warehouse: a file, or a lake.

        Raises SettingsError: FACTIBLE_WAREHOUSE names no lake.
        """
        if self.warehouse_location is None:
            return self._file("warehouse.duckdb")
        from warehouse.errors import WarehouseError  # noqa: PLC0415 - for lakes
        from warehouse.lake import Lake  # noqa: PLC0415

        try:
            location = self.warehouse_location.get_secret_value()
            return Lake.of(location, self.lake_data or self.home / "lake")
        except WarehouseError as error:
            raise SettingsError(f"FACTIBLE_WAREHOUSE cannot be used. {error}") from None

    @property
    def published(self) -> Connector:
        """The copy of the warehouse for readers; a lake is its own copy."""
        live = self.warehouse
        return live if live.is_shared else self._file("published.duckdb")

    def _file(self, name: str) -> Connector:
        from warehouse.connection import FileConnector  # noqa: PLC0415 - loads DuckDB

        return FileConnector(self.home / name)

    def read_from(self) -> Connector:
        """Return the copy for readers if there is one, else the warehouse."""
        return self.published if self.published.exists() else self.warehouse

    @property
    def cache_policy(self) -> CachePolicy:
        """How long the cache keeps answers. Without caching it keeps no text of anybody."""
        from resources.storage.answers import CachePolicy  # noqa: PLC0415 - it loads sqlite3

        if self.caching:
            return CachePolicy()
        never = timedelta()
        return CachePolicy(never, never, never, never, models=never)

    @property
    def recheck_cron(self) -> str:
        """The time of nightly re-checks, as cron in UTC."""
        return NIGHTLY if self.recheck_schedule in {"on", "off"} else self.recheck_schedule

    @property
    def project_corpora(self) -> Path:
        installed = Path(__file__).with_name("_corpora")
        return installed if installed.is_dir() else PACKAGE_PARENT / "corpora"

    @property
    def corpus_folders(self) -> tuple[Path, ...]:
        """The folders of corpus files, the project's first."""
        return (self.project_corpora, self.home_corpora)

    def ensure_home(self) -> Path:
        """Create the data folder if it is missing, and return it.

        Raises SettingsError: It cannot be created or written.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.home):
                pass
        except OSError as error:
            raise SettingsError(
                f"The data folder {self.home} is not writable ({error.strerror}). "
                "Set FACTIBLE_HOME to a writable folder, or change the permissions."
            ) from error
        return self.home


def load_settings(home: Path | None = None) -> Settings:
    """Read the settings. `home` overrides the data folder of the environment.

    Raises SettingsError: A variable has an invalid value, which the error does not repeat.
    """
    try:
        return Settings() if home is None else Settings(home=home)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field, *inside = map(str, first["loc"])
        words = _PROBLEM_WORDS.get(first["type"]) or reason_of(first)
        names = getattr(Settings.model_fields[field].annotation, "model_fields", ())
        if first["type"] == "extra_forbidden":
            words = f"its names are {', '.join(names)}"
        elif names and inside:
            words = f"{inside[0]}: {words}"
        raise SettingsError(
            f"The setting {variable(field)} cannot be used: {words}. Correct it in the environment "
            f"or in .env. {EXAMPLE} describes every variable."
        ) from error
