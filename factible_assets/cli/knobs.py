"""The run's knobs as options of the command line.

What belongs here: which option sets which knob. What does not: ranges and defaults, which config.py
declares once; a value outside its range is refused in its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import CliError
from factible_assets.errors import ExitCode

if TYPE_CHECKING:
    from factible_assets.config import FactCheckConfig

MaxClaims = Annotated[
    int | None, typer.Option("--max-claims", help="The most important claims that are checked.")
]
MaxQueries = Annotated[int | None, typer.Option("--max-queries", help="Searches per claim.")]
MaxResults = Annotated[int | None, typer.Option("--max-results", help="Sources read per search.")]
Web = Annotated[
    str | None,
    typer.Option(
        "--web",
        help="Where to look: auto, live, miniature, archive, or archive:NAME for one collection.",
    ),
]
Reasoner = Annotated[
    str | None, typer.Option("--reasoner", help="Who judges: auto, embedded or llm.")
]
MinimumRating = Annotated[
    str | None,
    typer.Option(
        "--minimum-rating",
        help="Sources rated lower are read only where there are too few: high, medium, unknown …",
    ),
]
PublishedBefore = Annotated[
    str | None,
    typer.Option(
        "--published-before", metavar="YYYY-MM-DD", help="Leave out sources from this day on."
    ),
]
PublishedAfter = Annotated[
    str | None,
    typer.Option(
        "--published-after", metavar="YYYY-MM-DD", help="Leave out sources from before this day."
    ),
]
ExcludeDomains = Annotated[
    str | None,
    typer.Option(
        "--exclude-domains",
        metavar="A,B",
        help="Leave out these domains and all below them: example.org,example.net.",
    ),
]
ExcludeFileTypes = Annotated[
    str | None,
    typer.Option(
        "--exclude-file-types", metavar="A,B", help="Leave out files of these types, such as pdf."
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="XX", help="Search in this language, where a provider can choose: en."
    ),
]
Country = Annotated[
    str | None,
    typer.Option(
        "--country",
        metavar="XX",
        help="Search as from this country, where a provider can choose: us.",
    ),
]
EnoughOrigins = Annotated[
    int | None,
    typer.Option(
        "--enough-origins",
        help="Judge a claim once so many independent reliable sources agree; the rest is skipped.",
    ),
]

_PLACES: dict[str, tuple[str, ...]] = {
    "max_claims": ("claims", "max_claims"),
    "max_queries": ("queries", "max_queries"),
    "max_results": ("search", "max_results"),
    "web": ("search", "web"),
    "pages_rating": ("search", "pages_rating"),
    "minimum_rating": ("search", "minimum_rating"),
    "published_before": ("search", "published_before"),
    "published_after": ("search", "published_after"),
    "exclude_domains": ("search", "exclude_domains"),
    "exclude_file_types": ("search", "exclude_file_types"),
    "language": ("search", "language"),
    "country": ("search", "country"),
    "enough_origins": ("evidence", "enough_origins"),
    "reasoner": ("reasoner",),
}


def config_of(given: dict[str, Any]) -> FactCheckConfig:
    """Return the run's knobs; options that were not given (None) keep their defaults.

    Raises:
        CliError: If a value is out of its range; the sentence names the option.
    """
    from pydantic import ValidationError

    from factible_assets.config import FactCheckConfig

    nested: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            *stages, knob = _PLACES[name]
            place = nested
            for stage in stages:
                place = place.setdefault(stage, {})
            place[knob] = value
    try:
        return FactCheckConfig.model_validate(nested)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        names = [part for part in first["loc"] if isinstance(part, str)]
        option = f"--{names[-1].replace('_', '-')}"
        raise CliError(
            f"{option} {first['input']!r} cannot be used: {_said(first['msg'])}.",
            "factible check --help describes the options.",
            ExitCode.USAGE,
        ) from error


def _said(words: str) -> str:
    """Return what a model of knobs says of a value, without the name of the kind of error."""
    return words.removeprefix("Value error, ")
