"""The settings of this machine: data folder, keys, defaults. config.py has the options of one run.

The sources, weakest first: defaults, `.env` beside workspace.yaml, `.env` in the working folder,
`.env` in the data folder, environment variables, arguments. `.env.example` describes them all.

A working folder may come from a stranger. So addresses, programs, schedules and deletion come
from the environment, or from the `.env` of a data folder that the environment names. A warning
names the variables that were left out elsewhere.
"""

from __future__ import annotations

import io
import logging
import os
import re
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dotenv.parser import parse_stream
from pydantic import (
    AfterValidator,
    AliasGenerator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from factible_assets.config import TwoLetters, Web, listed
from factible_assets.errors import ExitCode, FactibleError
from resources.llm.base import Effort

if TYPE_CHECKING:
    from resources.cache.store import CachePolicy
    from warehouse.connection import Connector

PACKAGE_PARENT = Path(__file__).resolve().parent.parent
"""The folder that holds the packages: the project, or site-packages."""
_EXAMPLES = (Path(__file__).with_name(".env.example"), PACKAGE_PARENT / ".env.example")
EXAMPLE = next((file for file in _EXAMPLES if file.is_file()), _EXAMPLES[1])
"""The file that describes every setting: in the wheel, or in the project."""

_OLLAMA_PORT = 11434
_HIGHEST_PORT = 65_535
_PORT = re.compile(r"[0-9]{1,5}")
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s?#]*")

SearchProvider = Literal["serper", "searxng", "semantic_scholar", "wikipedia", "perplexity"]
"""The search providers of the live web, in the order of their answers."""

Endpoint = Literal[
    "serper", "semantic_scholar", "wikipedia", "perplexity", "jina", "google_fact_check", "youtube",
    "rdap", "wayback", "google_vision", "sightengine", "thumbnails",
]  # fmt: skip
"""Services that may have another address, such as a gateway or a mirror."""

RESTRICTED: Final = "not from a working folder"
"""Marks the settings that name an address or a program, spend, delete, or let somebody in."""

_NO_SETTINGS = ("FACTIBLE_DEBUG", "FACTIBLE_BROKER", "FACTIBLE_DAGSTER_POSTGRES")
"""Variables that the command line and the files in deploy/ read themselves."""


def _paired(value: object) -> object:
    """Parse `name=value name=value`."""
    if not isinstance(value, str):
        return value
    pairs = [each.partition("=") for each in value.replace(",", " ").split()]
    if not all(name and sign and given for name, sign, given in pairs):
        raise ValueError("write it as name=value, several with spaces between")
    return {name: given for name, _, given in pairs}


def _address(value: object) -> object:
    """Parse `HOST:PORT`."""
    if not isinstance(value, str):
        return value
    host, _, port = value.rpartition(":")
    if not host or not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        raise ValueError("write the address as HOST:PORT")
    return host, int(port)


def _whole_address(value: str) -> str:
    """Validate a URL. pydantic's own error would repeat a password in it.

    A sign such as / in a password would end the host too early.
    """
    try:
        parts = urlsplit(value)
        is_whole = _ADDRESS.fullmatch(value) and parts.hostname
        if is_whole and (parts.port is None or parts.port > 0):
            return value
    except ValueError:
        pass
    raise ValueError(
        "write an address such as https://host.example:8080, with %2F for / and %23 for # in a "
        "password"
    ) from None


def _without_password(value: str) -> str:
    if "@" in urlsplit(value).netloc:
        raise ValueError(
            "the address contains a user name or a password, which factible does not send. Let the "
            "service accept this machine's address, or add a proxy that sends them"
        )
    return value


def _expanded(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("a path cannot contain a NUL byte; remove it")
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError("there is no user with the name after ~; write the whole path") from error


def variable(field: str) -> str:
    """Return the variable of a field. Keys and the settings of vendors have the vendors' names."""
    if field == "lake":
        return "FACTIBLE_WAREHOUSE"
    is_common = field.endswith("_api_key") or field.startswith(("openai_", "ollama_", "webshare_"))
    return field.upper() if is_common else f"FACTIBLE_{field.upper()}"


Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)]
UserPath = Annotated[Path, AfterValidator(_expanded)]
WebAddress = Annotated[str, AfterValidator(_whole_address)]
ServiceAddress = Annotated[WebAddress, AfterValidator(_without_password)]
Days = Annotated[float, Field(ge=0, le=36_500)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class SettingsError(FactibleError):
    code = ExitCode.ENVIRONMENT


def project_root() -> Path | None:
    """Return the working folder, or its nearest parent, with a workspace.yaml."""
    here = Path.cwd().resolve()
    return next((d for d in (here, *here.parents) if (d / "workspace.yaml").is_file()), None)


def default_home() -> Path:
    """Return `data` beside workspace.yaml, or in the working folder."""
    return (project_root() or Path.cwd()) / "data"


def _env_files(home: Path) -> list[Path]:
    """Return the existing `.env` files, the strongest first."""
    folders = (home, Path.cwd(), project_root() or Path.cwd())
    files = dict.fromkeys(folder.resolve() / ".env" for folder in folders)
    return [file for file in files if file.is_file()]


def _read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a `.env` with a value, their names in capitals.

    Raises SettingsError: The file is not UTF-8, a setting's line is not NAME=VALUE, or a setting is
    `${OTHER}`, which could copy a key of the environment.
    """
    settings = {variable(name) for name in Settings.model_fields}
    try:
        text = path.read_text("utf-8-sig")  # Windows may put a byte order mark first
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(
            f"{path}:{line}: The file is not UTF-8 here. Save it as UTF-8."
        ) from error
    values = {}
    for binding in parse_stream(io.StringIO(text)):
        name, value, words = (binding.key or "").upper(), binding.value, binding.original.string
        if binding.error and not settings.isdisjoint(re.findall(r"\w+", words.upper())):
            raise SettingsError(
                f"{path}:{binding.original.line}: The line cannot be read as NAME=VALUE.",
                "Close its quotation marks, or correct it.",
            )
        if name in settings and value and "${" in value:
            raise SettingsError(
                f"{path} sets {name} to another variable (${{…}}), which factible does not read.",
                "Write the value itself, or set the variable in the environment.",
            )
        if value:
            values[name] = value
    return values


def _from_env_files(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the `.env` files by field; `given` come from stronger sources.

    Working folders lose their restricted settings. A warning names those that nothing else sets.
    """
    fields = Settings.model_fields
    try:
        home = Path(given.get("home") or default_home()).expanduser().resolve()
    except (RuntimeError, ValueError):  # the field's validator reports it
        home = default_home().resolve()
    found: dict[str, Any] = {}
    for file in _env_files(home):
        written = _read_env_file(file)
        values = {name: written[variable(name)] for name in fields if variable(name) in written}
        if file.parent != home or not is_named(home):
            restricted = [name for name in values if RESTRICTED in fields[name].metadata]
            values = {name: value for name, value in values.items() if name not in restricted}
            left_out = [variable(name) for name in restricted if name not in {**given, **found}]
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
    """Say a sentence on stderr, once per process."""
    logging.getLogger(__name__).warning(sentence)


def is_named(home: Path) -> bool:
    """Tell whether the user named this data folder; the default one is the working folder's."""
    return bool(os.environ.get("FACTIBLE_HOME")) or home.resolve() != default_home().resolve()


def unknown_variables() -> str:
    """Return a sentence on each variable that is named like a setting and is none."""
    from resources.lines import did_you_mean  # noqa: PLC0415 - for the commands that start a check

    known = [variable(name) for name in Settings.model_fields]
    files = map(_read_env_file, _env_files(load_settings().home))
    names = {name.upper() for given in (os.environ, *files) for name in given}
    return " ".join(
        f"{name!r} is no setting. {did_you_mean(name, known, f'See {EXAMPLE}.')}"
        for name in sorted(names.difference(known, _NO_SETTINGS))
        if name.startswith("FACTIBLE_")
    )


class _InHome:
    """A path in the data folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, settings: Settings, owner: type[Settings]) -> Path:
        return settings.home / self.name


class Settings(BaseSettings):
    """The settings of one machine; `.env.example` describes each."""

    model_config = SettingsConfigDict(
        alias_generator=AliasGenerator(validation_alias=variable),
        env_prefix="FACTIBLE_",  # otherwise the variable HOME would set the field `home`
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,  # the value may be a key in the wrong variable
    )

    archive: ClassVar[_InHome] = _InHome("archive.sqlite")
    dagster_home: ClassVar[_InHome] = _InHome("dagster")
    reports: ClassVar[_InHome] = _InHome("reports")
    cache: ClassVar[_InHome] = _InHome("cache")
    prompts: ClassVar[_InHome] = _InHome("prompts")
    home_corpora: ClassVar[_InHome] = _InHome("corpora")

    home: Annotated[UserPath, RESTRICTED] = Field(default_factory=default_home)
    lake: Annotated[SecretStr | None, RESTRICTED] = None
    lake_data: Annotated[str | None, RESTRICTED] = None
    web: Web = "auto"

    # Language models.
    openai_api_key: SecretStr | None = None
    openai_base_url: Annotated[WebAddress | None, RESTRICTED] = Field(None, repr=False)
    ollama_host: Annotated[str | None, RESTRICTED] = Field(None, repr=False)
    model: str | None = None
    model_claims: str | None = None
    model_queries: str | None = None
    model_evidence: str | None = None
    model_verdicts: str | None = None
    model_judge: str | None = None
    model_reader: str | None = None
    claims_by: Literal["auto", "embedded", "llm"] = "auto"
    queries_by: Literal["auto", "embedded", "llm"] = "auto"
    evidence_by: Literal["auto", "lexical", "plain", "entailment", "labels", "llm"] = "auto"
    verdicts_by: Literal["auto", "template", "llm"] = "auto"
    models_file: Annotated[UserPath | None, RESTRICTED] = None
    reasoning_effort: Effort | None = None
    answer_language: TwoLetters | None = None
    prompt_files: Annotated[UserPath | None, RESTRICTED] = None
    thought_tokens: int | None = Field(None, ge=0, le=120_000)
    keep_prompts: float = Field(0, ge=0, le=3650)
    model_api_keys: Annotated[dict[str, SecretStr], NoDecode, BeforeValidator(_paired)] = {}
    budget_per_video_usd: Dollars | None = None
    budget_per_run_usd: Dollars | None = None

    # Search, and prior fact checks.
    search: Annotated[tuple[SearchProvider, ...], NoDecode, BeforeValidator(listed)] = ()
    serper_api_key: SecretStr | None = None
    searxng_url: Annotated[ServiceAddress | None, RESTRICTED] = Field(None, repr=False)
    semantic_scholar_api_key: SecretStr | None = None
    perplexity_api_key: SecretStr | None = None
    google_fact_check_api_key: SecretStr | None = None

    # Pictures, for the asset `media`.
    google_vision_api_key: SecretStr | None = None
    sightengine_api_key: SecretStr | None = None

    # Pages and domains.
    pages: Literal["direct", "jina"] = "direct"
    jina_api_key: SecretStr | None = None
    browser: Annotated[str, RESTRICTED] = "auto"
    robots: bool = True
    wayback: bool = False
    domain_ages: bool = True
    whois: Annotated[tuple[str, int] | None, NoDecode, BeforeValidator(_address), RESTRICTED] = None

    # YouTube, and transcripts of other videos.
    languages: Listed = Field(("en", "en-US"), min_length=1)
    translate: bool = False
    youtube_proxy: Annotated[SecretStr | None, RESTRICTED] = None
    webshare_proxy_username: SecretStr | None = None
    webshare_proxy_password: SecretStr | None = None
    transcript_folders: Annotated[
        tuple[UserPath, ...], NoDecode, BeforeValidator(listed), RESTRICTED
    ] = ()

    # Other addresses.
    endpoints: Annotated[
        dict[Endpoint, ServiceAddress], NoDecode, BeforeValidator(_paired), RESTRICTED
    ] = Field({}, repr=False)
    hosts: Annotated[
        dict[str, Annotated[tuple[str, int], BeforeValidator(_address)]],
        NoDecode,
        BeforeValidator(_paired),
        RESTRICTED,
    ] = {}
    model_hub: Annotated[WebAddress, RESTRICTED] = "https://huggingface.co"

    # Cache and retention.
    cache_search_days: Days = 1
    cache_page_days: Days = 1
    cache_model_days: Days = 90
    cache_megabytes: Annotated[int, RESTRICTED] = Field(1024, ge=1, le=10**6)
    retention_text_days: Annotated[Days, RESTRICTED] = Field(180, ge=1)
    retention_run_days: Annotated[Days, RESTRICTED] = Field(90, ge=1)

    # Re-checks and notifications.
    recheck_schedule: Annotated[Literal["on", "off"], RESTRICTED] = "off"
    recheck_cron: str = "0 2 * * *"
    recheck_timezone: str = "UTC"
    recheck_videos: int = Field(20, ge=0, le=10**6)
    recheck_cost_usd: Annotated[Dollars | None, RESTRICTED] = 1.0
    recheck_batch_hours: float = Field(0, ge=0, le=72)
    recheck_min_age_days: float = Field(7, ge=0, le=3650)
    notify_url: Annotated[SecretStr | None, RESTRICTED] = None

    # Reviews.
    reviewer: str | None = None
    organisation: str | None = Field(None, max_length=200)
    ruling_scale: str = "factible"

    # The HTTP service.
    public_url: Annotated[WebAddress | None, RESTRICTED] = None
    serve_token: Annotated[SecretStr | None, RESTRICTED] = None
    serve_hosts: Annotated[Listed, RESTRICTED] = ()
    serve_origins: Annotated[Listed, RESTRICTED] = ()
    serve_max_runs: int = Field(2, ge=1, le=32)
    serve_videos_per_day: int | None = Field(None, ge=0)
    serve_requests_per_minute: int | None = Field(None, ge=1)

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
    def _home_is_a_whole_path_of_a_folder(cls, value: Path) -> Path:
        home = Path.cwd() / value
        there = next(each for each in (home, *home.parents) if os.path.lexists(each))
        if there.exists() and not there.is_dir():
            raise ValueError(f"{there} is not a folder; name a folder, which may be a new one")
        return home

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        fields = {variable(name): name for name in settings_cls.model_fields}
        environment = {fields.get(name, name): value for name, value in env_settings().items()}
        files = _from_env_files({**environment, **init_settings()})
        return init_settings, InitSettingsSource(settings_cls, {**files, **environment})

    def secret(self, field: str) -> str:
        """Return a setting in plain text, empty if it is not set."""
        held = getattr(self, field)
        return held.get_secret_value() if isinstance(held, SecretStr) else held or ""

    @property
    def own_models(self) -> Path | None:
        """The user's file of models and prices, None if there is none.

        Raises SettingsError: The environment does not name the data folder that holds it.
        """
        return self.models_file or self.own_file("models.yaml")

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
    def ollama_url(self) -> str | None:
        """The URL of Ollama. OLLAMA_HOST may hold only a host or a port.

        A server that listens on every address (0.0.0.0) is on loopback too.
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
    def warehouse(self) -> Connector:
        """The live warehouse: a file, or a lake.

        Raises SettingsError: FACTIBLE_WAREHOUSE names no lake.
        """
        if self.lake is None:
            return self._file("warehouse.duckdb")
        from warehouse.errors import WarehouseError  # noqa: PLC0415 - for lakes
        from warehouse.lake import Lake  # noqa: PLC0415

        try:
            return Lake.of(self.lake.get_secret_value(), self.lake_data or self.home / "lake")
        except WarehouseError as error:
            raise SettingsError(f"FACTIBLE_WAREHOUSE cannot be used. {error}") from None

    @property
    def published(self) -> Connector:
        """The copy of the warehouse for readers; a lake is its own copy."""
        return self._file("published.duckdb") if self.lake is None else self.warehouse

    def _file(self, name: str) -> Connector:
        from warehouse.connection import FileConnector  # noqa: PLC0415 - loads DuckDB

        return FileConnector(self.home / name)

    def read_from(self) -> Connector:
        """Return the copy for readers if there is one, else the warehouse."""
        return self.published if self.published.exists() else self.warehouse

    def refuse_lost_warehouse(self) -> None:
        """Raise FactibleError if the warehouse is gone and its copy is not."""
        if self.published.exists() and not self.warehouse.exists():
            raise FactibleError(
                f"The warehouse {self.warehouse} is gone, but its published copy exists.",
                f"Restore it with: factible restore. To start over, move {self.published} away.",
                ExitCode.FAILED,
            )

    @property
    def cache_policy(self) -> CachePolicy:
        """The lifetimes and the size of cached answers."""
        from resources.cache.store import CachePolicy  # noqa: PLC0415 - it loads sqlite3

        usual = CachePolicy()
        pages = timedelta(days=self.cache_page_days)
        return CachePolicy(
            search=timedelta(days=self.cache_search_days),
            pages=pages,
            # A missing page expires no later than a page, so that 0 days cache neither.
            unavailable_pages=min(pages, usual.unavailable_pages),
            kept_pages=usual.kept_pages if pages else pages,
            models=timedelta(days=self.cache_model_days),
            max_bytes=self.cache_megabytes * 1024**2,
        )

    @property
    def project_corpora(self) -> Path:
        installed = Path(__file__).with_name("_corpora")
        return installed if installed.is_dir() else PACKAGE_PARENT / "corpora"

    @property
    def corpus_folders(self) -> tuple[Path, ...]:
        """The folders of corpus files, the project's first."""
        return (self.project_corpora, self.home_corpora)

    @property
    def rating_sets(self) -> tuple[Path, ...]:
        """The rating set files, the strongest first: the project's, then the data folder's."""
        own = self.home / "ratings"
        found = sorted(p for p in own.iterdir() if p.is_file()) if own.is_dir() else []
        return (
            self.project_corpora / "domain_ratings.yaml",
            self.project_corpora / "miniature_ratings.yaml",
            *found,
            self.project_corpora / "credibility_tiers.yaml",  # from a published method
        )

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
        field = str(first["loc"][0]) if first["loc"] else "settings"
        words = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
        raise SettingsError(
            f"The setting {field if field.isupper() else variable(field)} cannot be used: "
            f"{words}. Correct it in the environment or in .env. {EXAMPLE} describes every "
            "variable."
        ) from error
