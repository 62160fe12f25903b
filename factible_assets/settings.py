"""Where things are kept and which services have a key: what belongs to a machine, not to a run.

What belongs here: paths, keys and machine-wide defaults, read from the environment and from
`.env`. What does not: the knobs of one run (config.py), what is in the files that are named here.

Later sources win: defaults, `.env` beside workspace.yaml, `.env` in the working directory,
environment variables, arguments. Every variable is described in `.env.example`.

A folder that one works in may be somebody else's. So what a `.env` there says of endpoints and
programs counts only with the user's word, given once as direnv's `allow` is and remembered by
digest in the user's own configuration folder; and no key of the environment goes to an endpoint
that such a file alone names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

import factible_assets
from factible_assets.config import SearchConfig, TwoLetters, listed
from factible_assets.errors import ExitCode, FactibleError
from resources.llm.base import Effort

if TYPE_CHECKING:
    from resources.cache import CachePolicy
    from warehouse.lake import Lake

_WORKSPACE_FILE = "workspace.yaml"
PACKAGE_PARENT = Path(factible_assets.__file__).resolve().parent.parent
"""The folder that holds the packages: the project, or site-packages."""

_OLLAMA_PORT = 11434
_HIGHEST_PORT = 65_535
_PORT = re.compile(r"[0-9]{1,5}")

SearchProvider = Literal["serper", "searxng", "semantic_scholar", "wikipedia", "perplexity"]
"""The search providers of the live web, in the order in which their answers are listed."""

Endpoint = Literal[
    "serper",
    "semantic_scholar",
    "wikipedia",
    "perplexity",
    "jina",
    "google_fact_check",
    "youtube",
    "rdap",
    "wayback",
    "google_vision",
    "sightengine",
    "thumbnails",
]
"""Services that can be reached elsewhere: through a gateway, or at a mirror."""


def _paired(value: object) -> object:
    """Read `name=value name=value` as a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [each.partition("=") for each in value.replace(",", " ").split()]
    if not all(name and sign and what for name, sign, what in pairs):
        raise ValueError("write it as name=value, several of them with spaces between")
    return {name: what for name, _, what in pairs}


def _days(value: object) -> object:
    """Read `on` as a month."""
    switches = {"on": 30, "true": 30, "yes": 30, "off": 0, "false": 0, "no": 0}
    return switches.get(value.strip().lower(), value) if isinstance(value, str) else value


def _address(value: object) -> object:
    """Read `HOST:PORT` as an address to connect to."""
    if not isinstance(value, str):
        return value
    host, _, port = value.rpartition(":")
    if not host or not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        raise ValueError("write the address as HOST:PORT")
    return host, int(port)


def _whole_address(value: str) -> str:
    """Refuse what looks like an address and is none; pydantic's own words would repeat a password.

    A sign such as / in a password ends the host where nobody meant it to.
    """
    try:
        parts = urlsplit(value)
        if parts.hostname and (parts.port is None or parts.port > 0):
            return value
    except ValueError:
        pass
    raise ValueError(
        "write an address such as https://host.example:8080, with %2F for / and %23 for # in a "
        "password"
    ) from None


SPEAKING = frozenset(
    {
        "home",
        "lake",
        "lake_data",
        "openai_base_url",
        "ollama_host",
        "searxng_url",
        "browser",
        "whois",
        "youtube_proxy",
        "endpoints",
        "hosts",
        "model_hub",
        "models_file",
        "notify_url",
        "public_url",
        "transcript_folders",
        "serve_token",
        "serve_hosts",
        "serve_origins",
    }
)
"""Settings that say who is sent something, what is executed, or who is let in."""

_HARMLESS = frozenset({("browser", "auto"), ("browser", "off")})


Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)]
WebAddress = Annotated[
    str, Field(pattern=r"^https?://[^\s/?#]+[^\s?#]*$"), AfterValidator(_whole_address)
]
Days = Annotated[float, Field(ge=0, le=36_500)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AnswerTokens = Annotated[int, Field(ge=50, le=60_000)]


class SettingsError(FactibleError):
    """A setting that cannot be used. The message names it and the remedy."""

    code = ExitCode.ENVIRONMENT


class SetupError(Exception):
    """A service was asked for and cannot be set up. A sentence that names the setting."""


def read_words(path: Path) -> str:
    """Return the text of a file, whatever bytes are in it."""
    return path.read_text(encoding="utf-8", errors="replace")


# --- The user's word for what a working folder says ----------------------------------------------


def is_trusted(file: Path, content: str) -> bool:
    """Tell whether the user has allowed this content of this file."""
    try:
        return _digest(file, content) in _store().read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return False


def allow(file: Path, content: str) -> None:
    """Remember that the user has allowed this content of this file."""
    if is_trusted(file, content):
        return
    store = _store()
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as allowed:
        allowed.write(f"{_digest(file, content)}\n")


def _store() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "factible" / "trusted"


def _digest(file: Path, content: str) -> str:
    return hashlib.sha256(f"{file.resolve()}\0{content}".encode("utf-8", "replace")).hexdigest()


def project_root(start: Path | None = None) -> Path | None:
    """Return the nearest folder at or above `start` that holds a workspace.yaml."""
    here = (start or Path.cwd()).resolve()
    return next((d for d in (here, *here.parents) if (d / _WORKSPACE_FILE).is_file()), None)


def default_home() -> Path:
    """Return the data folder of a user who names none: beside workspace.yaml, else here."""
    return (project_root() or Path.cwd()) / "data"


@dataclass(frozen=True, slots=True)
class FolderFile:
    """What a `.env` says: values by field, as they are written."""

    path: Path
    values: Mapping[str, str]

    @property
    def speaking(self) -> dict[str, str]:
        """The values that need the user's word."""
        return {
            name: value
            for name, value in sorted(self.values.items())
            if name in SPEAKING and (name, value) not in _HARMLESS
        }

    @property
    def variables(self) -> list[str]:
        """The variables that need the user's word."""
        return [_variable(name) for name in self.speaking]

    @property
    def content(self) -> str:
        """What the user's word is given for: any other value of these asks for it again."""
        return json.dumps(self.speaking)


def folder_files(settings_class: type[BaseSettings] | None = None) -> list[FolderFile]:
    """Read the `.env` files of the working folder, the later one winning.

    Raises:
        SettingsError: One is not UTF-8.
    """
    folders = [folder for folder in (project_root(), Path.cwd().resolve()) if folder is not None]
    read = []
    for path in dict.fromkeys(folder / ".env" for folder in folders):
        if not path.is_file():
            continue
        try:
            source = DotEnvSettingsSource(settings_class or Settings, env_file=path)
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise SettingsError(
                f"{path}:{line}: The file is not UTF-8 here. Save it as UTF-8."
            ) from error
        _refuse_references(path)
        read.append(FolderFile(path, _by_field(source())))
    return read


def _refuse_references(path: Path) -> None:
    """Refuse `${OTHER}`, which would carry a key of the environment to wherever the file says."""
    known = {_variable(name).upper() for name in Settings.model_fields}
    for name, value in dotenv_values(path, interpolate=False, encoding="utf-8-sig").items():
        if name.upper() in known and value and "${" in value:
            raise SettingsError(
                f"{path} writes {name} by naming another variable (${{…}}), which is not read.",
                "Write the value itself, or set the variable in the environment.",
            )


def _by_field(given: Mapping[str, Any]) -> dict[str, str]:
    """Return raw values by the names of their fields, which variables may have others than."""
    names = {field.validation_alias: name for name, field in Settings.model_fields.items()}
    return {names.get(key, key): value for key, value in given.items()}


class _Surroundings(PydanticBaseSettingsSource):
    """The environment and the files of the working folder, put together with care."""

    def __init__(
        self, kind: type[BaseSettings], given: Mapping[str, Any], environment: Mapping[str, Any]
    ) -> None:
        super().__init__(kind)
        self._given, self._environment = _by_field(given), _by_field(environment)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Say nothing of single fields."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values.

        Raises:
            SettingsError: A file says what it needs the user's word for, and does not have it.
        """
        mine = {**self._environment, **self._given}
        written: dict[str, str] = {}
        for file in folder_files(self.settings_cls):
            unheard = [name for name in file.speaking if name not in mine]
            if unheard and not is_trusted(file.path, file.content):
                raise SettingsError(
                    f"{file.path} says where data is sent or what is run "
                    f"({', '.join(map(_variable, unheard))}), and you have not allowed that yet. "
                    "Look at it, then run here: factible trust"
                )
            written.update(file.values)
        values = {**written, **self._environment}
        for key in _withheld(self._environment, written, mine):
            del values[key]
        return values


def _sent_to() -> dict[str, tuple[str, str | None]]:
    """Return where each key is sent: the setting, and the service in it, which bears its name."""
    services = {f"{name}_api_key": ("endpoints", name) for name in get_args(Endpoint)}
    known = {key: place for key, place in services.items() if key in Settings.model_fields}
    return {"openai_api_key": ("openai_base_url", None), **known}


def _withheld(
    environment: Mapping[str, Any], written: Mapping[str, str], mine: Mapping[str, Any]
) -> list[str]:
    """Return the keys of the environment whose endpoint only a file of the folder names."""
    return [
        key
        for key, (setting, service) in _sent_to().items()
        if key in environment
        and setting in written
        and setting not in mine
        and (service is None or f"{service}=" in written[setting])
    ]


def withheld_keys() -> list[str]:
    """Return the variables of the environment that are not sent to where only a `.env` says."""
    environment = _by_field(EnvSettingsSource(Settings)())
    written = {name: value for file in folder_files() for name, value in file.values.items()}
    return [_variable(key) for key in _withheld(environment, written, environment)]


def _variable(field: str) -> str:
    """Return the variable that sets a field."""
    alias = (
        Settings.model_fields[field].validation_alias if field in Settings.model_fields else None
    )
    return str(alias) if alias else f"FACTIBLE_{field.upper()}"


class Settings(BaseSettings):
    """The settings of one machine: a data folder, a default web, optional keys."""

    model_config = SettingsConfigDict(
        env_prefix="FACTIBLE_",
        # What Windows puts first is no part of the first name.
        env_file_encoding="utf-8-sig",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        # An error would otherwise repeat the value, which may be a key in the wrong place.
        hide_input_in_errors=True,
    )

    home: Path = Field(
        default_factory=default_home,
        description="The data folder: warehouse, archive, Dagster's runs, reports, own corpora.",
    )
    lake: SecretStr | None = Field(
        default=None,
        validation_alias="FACTIBLE_WAREHOUSE",
        description="A lake that several machines write, in place of the file in the home.",
    )
    lake_data: str | None = Field(
        default=None,
        description="Where the lake's Parquet files are; lake/ in the home if not set.",
    )
    web: str = Field(
        default="auto",
        pattern=SearchConfig.model_json_schema()["properties"]["web"]["pattern"],
        description="Where evidence is looked for when a run does not say.",
    )

    # Language models.
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: WebAddress | None = Field(
        default=None,
        validation_alias="OPENAI_BASE_URL",
        repr=False,
        description="Another server that speaks OpenAI's protocol.",
    )
    ollama_host: str | None = Field(
        default=None,
        validation_alias="OLLAMA_HOST",
        repr=False,
        description="Where Ollama answers.",
    )
    model: str | None = Field(default=None, description="The model of all stages.")
    model_claims: str | None = None
    model_queries: str | None = None
    model_evidence: str | None = None
    model_verdicts: str | None = None
    model_judge: str | None = Field(
        default=None, description="The model that `factible judge` asks; no stage of a run."
    )
    models_file: Path | None = Field(
        default=None, description="Own models and prices; models.yaml in the home if not set."
    )
    reasoning_effort: Effort | None = Field(
        default=None, description="How hard reasoning models think, in all stages."
    )
    reasoning_effort_claims: Effort | None = None
    reasoning_effort_queries: Effort | None = None
    reasoning_effort_evidence: Effort | None = None
    reasoning_effort_verdicts: Effort | None = None
    reasoning_effort_judge: Effort | None = None
    max_tokens_claims: AnswerTokens | None = None
    max_tokens_queries: AnswerTokens | None = None
    max_tokens_evidence: AnswerTokens | None = None
    max_tokens_verdicts: AnswerTokens | None = None
    max_tokens_judge: AnswerTokens | None = None
    answer_language: TwoLetters | None = Field(
        default=None, description="In which language models write reasons; else the claim's."
    )
    thought_tokens: int | None = Field(
        default=None, ge=0, le=120_000, description="Room for thoughts, beside that of the answer."
    )
    keep_prompts: Annotated[float, BeforeValidator(_days)] = Field(
        default=0, ge=0, le=3650, description="For how many days prompts and answers are kept."
    )
    model_api_keys: Annotated[dict[str, SecretStr], NoDecode, BeforeValidator(_paired)] = Field(
        default_factory=dict, description="Keys of the providers in the home's models.yaml."
    )
    budget_per_video_usd: Dollars | None = None
    budget_per_run_usd: Dollars | None = None

    # Search.
    search: Annotated[tuple[SearchProvider, ...], NoDecode, BeforeValidator(listed)] = Field(
        default=(), description="Who is asked on the live web; empty: all with a key or a URL."
    )
    serper_api_key: SecretStr | None = Field(default=None, validation_alias="SERPER_API_KEY")
    searxng_url: WebAddress | None = Field(
        default=None, repr=False, description="A SearXNG instance; it may hold a password."
    )
    semantic_scholar_api_key: SecretStr | None = Field(
        default=None, validation_alias="SEMANTIC_SCHOLAR_API_KEY"
    )
    perplexity_api_key: SecretStr | None = Field(
        default=None, validation_alias="PERPLEXITY_API_KEY"
    )

    # Prior fact checks.
    fact_checks: Literal["auto", "off"] = Field(
        default="auto",
        description="Whether fact-checkers' archives are asked: auto does where there is a key.",
    )
    google_fact_check_api_key: SecretStr | None = Field(
        default=None, validation_alias="GOOGLE_FACT_CHECK_API_KEY"
    )

    # Pictures, for the asset `media`.
    google_vision_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="GOOGLE_VISION_API_KEY",
        description="Reverse image search, which is shown the pictures.",
    )
    sightengine_api_key: SecretStr | None = Field(
        default=None,
        validation_alias="SIGHTENGINE_API_KEY",
        description="Deepfake scores, as USER:SECRET; it is shown the pictures.",
    )

    # Pages and domains.
    pages: Literal["direct", "jina"] = Field(
        default="direct", description="Who fetches pages: this machine, or Jina's reader."
    )
    jina_api_key: SecretStr | None = Field(default=None, validation_alias="JINA_API_KEY")
    browser: str = Field(
        default="auto", description="Draws pages that need scripts: auto, off, or an executable."
    )
    robots: bool = Field(default=True, description="Whether robots.txt is respected.")
    wayback: bool = Field(
        default=False, description="Whether copies of pages that are gone are asked for."
    )
    domain_ages: bool = Field(
        default=True, description="Whether registries are asked how old unlisted domains are."
    )
    whois: Annotated[tuple[str, int] | None, NoDecode, BeforeValidator(_address)] = Field(
        default=None, description="A WHOIS server or relay that is asked in place of all others."
    )

    # YouTube.
    languages: Listed = Field(
        default=("en", "en-US"), min_length=1, description="Languages of captions, best first."
    )
    translate: bool = Field(
        default=False, description="Whether captions that YouTube translates are accepted."
    )
    youtube_proxy: SecretStr | None = Field(
        default=None, description="An HTTP proxy for when YouTube refuses this address."
    )
    webshare_proxy_username: SecretStr | None = Field(
        default=None, validation_alias="WEBSHARE_PROXY_USERNAME"
    )
    webshare_proxy_password: SecretStr | None = Field(
        default=None, validation_alias="WEBSHARE_PROXY_PASSWORD"
    )

    transcript_folders: Listed = Field(
        default=(),
        description="Folders whose files the jobs add_video and import_corpus may take, besides "
        "the data folder.",
    )

    # Where things are really found.
    endpoints: Annotated[dict[Endpoint, WebAddress], NoDecode, BeforeValidator(_paired)] = Field(
        default_factory=dict, repr=False, description="Services that are reached elsewhere."
    )
    hosts: Annotated[
        dict[str, Annotated[tuple[str, int], BeforeValidator(_address)]],
        NoDecode,
        BeforeValidator(_paired),
    ] = Field(
        default_factory=dict, description="Hosts of pages that are served by a stated address."
    )

    cache_search_days: Days = Field(
        default=1, description="How long search answers are kept. 0 keeps none."
    )
    cache_page_days: Days = Field(
        default=1, description="How long a page is taken as it is; then it is asked after."
    )
    cache_model_days: Days = Field(
        default=90, description="How long answers of language models are kept."
    )
    cache_age_days: Days = Field(default=180, description="How long the ages of domains are kept.")
    cache_megabytes: int = Field(
        default=1024, ge=1, description="The room for all that; what is unused longest goes first."
    )
    model_hub: WebAddress = Field(
        default="https://huggingface.co",
        description="Where `factible models pull` fetches from.",
    )

    # Re-checks, retention, notifications.
    recheck_schedule: Literal["on", "off"] = Field(
        default="off", description="Whether the nightly schedules run unless the UI says otherwise."
    )
    recheck_cron: str = Field(
        default="0 2 * * *",
        pattern=r"^\S+( \S+){4}$",
        description="When videos are checked again, as a cron expression of five fields.",
    )
    recheck_timezone: str = Field(
        default="UTC", description="The time zone of the schedules, such as Europe/Madrid."
    )
    recheck_videos: int = Field(
        default=20, ge=0, description="The most videos that a night checks again."
    )
    recheck_cost_usd: Dollars | None = Field(
        default=1.0, description="The most that a night's re-checks may be expected to cost."
    )
    recheck_batch_hours: float = Field(
        default=0,
        ge=0,
        le=72,
        description="How long re-checks wait for OpenAI's batches, at half the price; 0 for none.",
    )
    recheck_min_age_days: float = Field(
        default=7, ge=0, le=3650, description="A complete check younger than this is not repeated."
    )
    retention_cron: str = Field(
        default="30 4 * * 0",
        pattern=r"^\S+( \S+){4}$",
        description="When old texts and answers are removed, as a cron expression.",
    )
    retention_text_days: Days = Field(
        default=180,
        ge=1,
        description="Texts of pages that nothing current rests on are removed after so long.",
    )
    retention_cache_days: Days = Field(
        default=90, description="Kept answers that nobody asked for so long are removed."
    )
    retention_run_days: Days = Field(
        default=90,
        ge=1,
        description="Dagster's records of older runs that made nothing current are removed.",
    )
    notify_url: SecretStr | None = Field(
        default=None, description="A webhook that is told of flipped verdicts and failed runs."
    )

    # Reviews.
    reviewer: str | None = Field(
        default=None, description="Who `factible review` records; else the name of the login."
    )
    organisation: str | None = Field(
        default=None, max_length=200, description="For whom rulings are signed."
    )
    ruling_scale: str = Field(
        default="factible",
        description="What is ruled on: a scale, or a corpus whose claims have labels.",
    )

    # The HTML reports.
    public_url: WebAddress | None = Field(
        default=None, description="Where `factible serve` is reached, for links to its reports."
    )

    # The HTTP service.
    serve_token: SecretStr | None = Field(
        default=None,
        description="What clients of the HTTP service prove who they are with; several by commas.",
    )
    serve_hosts: Listed = Field(
        default=(), description="The names under which clients reach the HTTP service."
    )
    serve_origins: Listed = Field(
        default=(), description="The web origins whose pages may call the HTTP service."
    )
    serve_max_runs: int = Field(
        default=2, ge=1, le=32, description="Fact-checks that the HTTP service runs at once."
    )
    serve_videos_per_day: int | None = Field(
        default=None, ge=0, description="Fact-checks that a client may start within 24 hours."
    )
    serve_requests_per_minute: int | None = Field(
        default=None, ge=1, description="Requests that a client may send within a minute."
    )

    @field_validator("recheck_timezone")
    @classmethod
    def _timezone_is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("write a time zone such as Europe/Madrid or UTC") from error
        return value

    @field_validator("notify_url")
    @classmethod
    def _webhook_is_an_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("write the webhook as https://…")
        return value

    @field_validator("home")
    @classmethod
    def _home_is_absolute(cls, value: Path) -> Path:
        return Path.cwd() / value.expanduser()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read `.env` beside workspace.yaml too, so that every subfolder has the same settings."""
        del dotenv_settings, file_secret_settings
        return init_settings, _Surroundings(settings_cls, init_settings(), env_settings())

    @property
    def own_models(self) -> Path | None:
        """The user's models and prices, which say where keys are sent; None if there are none.

        Raises:
            SettingsError: The data folder is the working folder's, and nobody allowed the file.
        """
        if self.models_file is not None:
            return self.models_file.expanduser()
        path = self.home / "models.yaml"
        if not path.is_file():
            return None
        self.require_trust(path)
        return path

    def require_trust(self, path: Path) -> None:
        """Let a file of the data folder have its say, if that is the user's or they allowed it.

        Raises:
            SettingsError: The data folder is the working folder's, and nobody allowed the file.
        """
        is_chosen = "FACTIBLE_HOME" in os.environ or self.home != default_home()
        if is_chosen or is_trusted(path, read_words(path)):
            return
        raise SettingsError(
            f"{path} says where data is sent or what is run, and you have not allowed that yet. "
            "Look at it, then run here: factible trust"
        )

    @property
    def ollama_url(self) -> str | None:
        """Where Ollama answers, as a URL: its own variable may hold a host or a port alone.

        A server that listens everywhere (0.0.0.0) is asked on loopback.
        """
        if self.ollama_host is None:
            return None
        written = self.ollama_host.strip()
        parts = urlsplit(written if "://" in written else f"http://{written}")
        host = parts.hostname or "127.0.0.1"
        host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - not listened on
        shown = f"[{host}]" if ":" in host else host
        implied = {"https": 443}.get(parts.scheme, _OLLAMA_PORT)
        return f"{parts.scheme}://{shown}:{parts.port or implied}{parts.path}".rstrip("/")

    @property
    def warehouse(self) -> Path | Lake:
        """The live warehouse: a file, which one process writes at a time, or a lake.

        Raises:
            SettingsError: FACTIBLE_WAREHOUSE names no lake.
        """
        if self.lake is None:
            return self.home / "warehouse.duckdb"
        from warehouse.errors import WarehouseError  # noqa: PLC0415 - only who has a lake needs it
        from warehouse.lake import Lake  # noqa: PLC0415

        try:
            return Lake.of(self.lake.get_secret_value(), self.lake_data or self.home / "lake")
        except WarehouseError as error:
            raise SettingsError(f"FACTIBLE_WAREHOUSE cannot be used. {error}") from None

    @property
    def published(self) -> Path | Lake:
        """The copy of the warehouse that readers open; a lake they open itself."""
        return self.home / "published.duckdb" if self.lake is None else self.warehouse

    def read_from(self) -> Path | Lake:
        """Return what questions are put to: the copy for readers, the warehouse where none is."""
        return self.published if self.published.exists() else self.warehouse

    @property
    def archive(self) -> Path:
        """The stored pages and hits that the archive provider searches."""
        return self.home / "archive.sqlite"

    @property
    def dagster_home(self) -> Path:
        """The folder of the persistent Dagster instance."""
        return self.home / "dagster"

    @property
    def reports(self) -> Path:
        """The folder of the HTML reports."""
        return self.home / "reports"

    @property
    def cache(self) -> Path:
        """The folder of answers that are kept between runs."""
        return self.home / "cache"

    @property
    def cache_policy(self) -> CachePolicy:
        """How long answers are kept, and how much room they have."""
        from resources.cache import CachePolicy  # noqa: PLC0415 - only who opens the cache needs it

        return CachePolicy(
            search=timedelta(days=self.cache_search_days),
            pages=timedelta(days=self.cache_page_days),
            models=timedelta(days=self.cache_model_days),
            ages=timedelta(days=self.cache_age_days),
            max_bytes=self.cache_megabytes * 1024**2,
        )

    @property
    def prompts(self) -> Path:
        """The folder of prompts and answers that are kept for audit."""
        return self.home / "prompts"

    @property
    def project_corpora(self) -> Path:
        """The corpora that come with the project."""
        return PACKAGE_PARENT / "corpora"

    @property
    def home_corpora(self) -> Path:
        """The user's own corpora, which the command line writes to."""
        return self.home / "corpora"

    @property
    def corpus_folders(self) -> tuple[Path, ...]:
        """Every folder whose *.yaml files may list videos, the project's first."""
        return (self.project_corpora, self.home_corpora)

    @property
    def rating_sets(self) -> tuple[Path, ...]:
        """The rating set files in order of precedence: the project's, then those in the home.

        The four tiers of a published method come last: who lists the same domains decides.
        """
        own = self.home / "ratings"
        found = sorted(p for p in own.iterdir() if p.is_file()) if own.is_dir() else []
        return (
            self.project_corpora / "domain_ratings.yaml",
            self.project_corpora / "miniature_ratings.yaml",
            *found,
            self.project_corpora / "credibility_tiers.yaml",
        )

    def ensure_home(self) -> Path:
        """Create the data folder if need be and return it.

        Raises:
            SettingsError: If the folder cannot be created or written.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.home):
                pass
        except OSError as error:
            raise SettingsError(
                f"The data folder {self.home} cannot be written ({error.strerror}). "
                "Set FACTIBLE_HOME to a folder that you may write to, or change its permissions."
            ) from error
        return self.home


def load_settings(home: Path | None = None) -> Settings:
    """Read the settings of this machine.

    Args:
        home: The data folder, whatever the environment says.

    Raises:
        SettingsError: If a variable has a value that cannot be used; its value is not repeated.
    """
    try:
        return Settings() if home is None else Settings(home=home)
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from error


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = str(first["loc"][0]) if first["loc"] else "settings"
    variable = field if field.isupper() else _variable(field)
    return (
        f"The setting {variable} cannot be used: {first['msg']}. "
        "Correct it in the environment or in .env; .env.example describes every variable."
    )
