"""`factible corpus`: the files that list videos.

What belongs here: arguments, tables. What does not: the format of corpora and their errors
(corpora/).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from factible_assets.cli.errors import EXIT_CODES, CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.exchange import ImportFormat
from factible_assets.wording import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from factible_assets.corpora import (
        CorporaReading,
        Corpus,
        CorpusVideo,
        FileProblem,
    )


class CorpusExport(StrEnum):
    """The forms in which annotated claims can be written."""

    AVERITEC = "averitec"
    FEVER = "fever"
    CLAIMREVIEW = "claimreview"


Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file, not to stdout.")
]

app = typer.Typer(
    name="corpus",
    no_args_is_help=True,
    help="The files that list videos, their transcripts and annotated claims.",
    epilog=EXIT_CODES,
)


@app.command("add", epilog=EXIT_CODES)
def add(
    video: Annotated[
        str, typer.Argument(help="A YouTube URL or id, or an id of your own for the video.")
    ],
    *,
    transcript: Annotated[
        Path | None,
        typer.Option("--transcript", help="Its captions; copied beside the corpus file."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="The title.")] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="Who published it.")] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="The language spoken, such as en.")
    ] = None,
    published_on: Annotated[
        str | None, typer.Option("--published-on", metavar="YYYY-MM-DD", help="The day.")
    ] = None,
    web: Annotated[
        str | None, typer.Option("--web", help="Where its evidence is looked for.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="The corpus file; else local.yaml in the data folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a video in a corpus file; the rest of the file stays as it is.

    Example: factible corpus add my-talk --transcript talk.vtt --title "What everybody knows"

    An id that begins with a dash comes last: factible corpus add --title T -- -LDjqcvSbP4
    """
    from pydantic import ValidationError

    from factible_assets.corpora import load_corpora
    from factible_assets.corpora.adding import LOCAL_CORPUS, list_new_video
    from factible_assets.settings import load_settings

    settings = load_settings()
    file = corpus or settings.home_corpora / LOCAL_CORPUS
    if corpus is None:
        settings.ensure_home()
    try:
        entry = list_new_video(
            file,
            video,
            listing=load_corpora(settings.corpus_folders),
            transcript=transcript,
            title=title,
            channel=channel,
            language=language,
            published_on=published_on,
            web=web,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = f"--{str(first['loc'][0]).replace('_', '-')}: " if first["loc"] else ""
        words = first["msg"].removeprefix("Value error, ")
        raise CliError(
            f"{name}{words}.", "See: factible corpus add --help", ExitCode.USAGE
        ) from error
    if as_json:
        print_json({"video_id": entry.video_id, "corpus": str(file)})
    else:
        typer.echo(f"{entry.video_id} is listed in {file}")


@app.command("list", epilog=EXIT_CODES)
def list_(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also the videos of corpora that are read on demand.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the videos of all corpora, the project's and your own.

    Example: factible corpus list --json
    """
    from factible_assets.corpora import load_corpora
    from factible_assets.settings import load_settings

    reading = load_corpora(load_settings().corpus_folders)
    videos = list(reading.everything() if everything else reading.videos())
    if as_json:
        print_json([_as_document(listed) for listed in videos])
    else:
        _print_videos(videos)
    for corpus in () if everything else reading.corpora:
        if corpus.on_demand:
            note(
                f"{len(corpus.videos)} more on demand, of {corpus.name}: factible corpus list --all"
            )
    _note_problems(reading.problems)


@app.command("validate", epilog=EXIT_CODES)
def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Corpus files; without any, all of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check corpus files; each problem is printed as file:line: what is wrong and what to do.

    Example: factible corpus validate corpora/everyday_beliefs.yaml
    """
    from factible_assets.corpora import load_corpora
    from factible_assets.settings import load_settings

    reading = _read_files(files) if files else load_corpora(load_settings().corpus_folders)
    if as_json:
        keys = ("file", "line", "problem")
        rows = ((str(each.file), each.line, each.sentence) for each in reading.problems)
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        for problem in reading.problems:
            typer.echo(str(problem))
    if reading.problems:
        raise typer.Exit(ExitCode.BAD_INPUT)
    count = len(list(reading.everything()))
    note(f"{count} videos in {len(reading.corpora)} corpora, no problems")


@app.command("import", epilog=EXIT_CODES)
def import_(
    path: Annotated[
        Path,
        typer.Argument(help="A file of claims or a corpus; or a published evaluation folder."),
    ],
    *,
    form: Annotated[
        ImportFormat, typer.Option("--format", "-f", help="What it is; auto looks.")
    ] = ImportFormat.auto,
    name: Annotated[
        str | None, typer.Option("--name", help="The corpus's name; else that of the path.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="The folder of corpora; else the data folder's.")
    ] = None,
    web: Annotated[
        str | None,
        typer.Option(
            "--web",
            help="Where evidence is looked for; else the archive for published runs, auto for "
            "the rest.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first so many claims.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a different corpus of the same name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import claims or videos that others annotated, as a corpus with transcripts.

    Formats: published (a folder with videos.csv, runs/ and ground_truth/), corpus (a corpus file,
    such as one that is read on demand), averitec (JSON), fever (JSON Lines, Climate-FEVER's too),
    claimreview (JSON-LD), csv (a table with a column claim). A claim without a video becomes an
    entry of its own, with its date as the date limit of its evidence.

    Example: factible corpus import published/ --web archive:recorded

    Example: factible corpus import averitec/dev.json --name averitec-dev --limit 100
    """
    from factible_assets.corpora import load_corpora
    from factible_assets.exchange.importing import import_corpus
    from factible_assets.settings import load_settings

    settings = load_settings()
    if not path.exists():
        raise CliError(f"There is no file or folder {path}.", "Check the path.")
    if to is None:
        settings.ensure_home()
    done = import_corpus(
        path,
        to or settings.home_corpora,
        form=form,
        name=name,
        web=web,
        limit=limit,
        replace=replace,
        listing=load_corpora(settings.corpus_folders),
    )
    for sentence in done.left_out:
        note(f"  left out: {plain(sentence)}")
    if as_json:
        print_json(
            {
                "corpus": str(done.file),
                "name": done.name,
                "videos": done.videos,
                "claims": done.claims,
                "transcripts": done.transcripts,
                "left_out": list(done.left_out),
            }
        )
    else:
        typer.echo(f"{done.videos} videos with {done.claims} annotated claims → {done.file}")


@app.command("export", epilog=EXIT_CODES)
def export(
    name: Annotated[str, typer.Argument(help="The name of a corpus with annotated claims.")],
    *,
    form: Annotated[CorpusExport, typer.Option("--format", "-f", help="The form to write.")],
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus's annotated claims, the ground truth, as other programs read them.

    Example: factible corpus export everyday-beliefs --format averitec -o beliefs.json

    What was found by checking is exported by: factible export
    """
    from factible_assets.corpora import load_corpora
    from factible_assets.files import write_whole
    from factible_assets.settings import load_settings

    if as_json and output is None:
        raise CliError("--json tells where a file is.", "Name it with --output.", ExitCode.USAGE)
    text, count = _exported(load_corpora(load_settings().corpus_folders), name, form)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_whole(output, text.encode())
    if as_json:
        print_json({"corpus": name, "format": form.value, "path": str(output), "claims": count})
    else:
        typer.echo(f"{count} annotated claims → {output}")


@app.command("schema", epilog=EXIT_CODES)
def schema(
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print the JSON Schema of corpus files, for editors that check while one types.

    Editors find it by a first line such as: # yaml-language-server: $schema=corpus.schema.json

    Example: factible corpus schema -o my-corpora/corpus.schema.json
    """
    from factible_assets.corpora.format import rendered_json_schema
    from factible_assets.files import write_whole

    del as_json  # A schema is JSON in any case.
    text = rendered_json_schema()
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(str(write_whole(output, text.encode())))


def _exported(reading: CorporaReading, name: str, form: CorpusExport) -> tuple[str, int]:
    """Return the annotated claims of a corpus in another form, and their number.

    Raises:
        CliError: There is no such corpus, or it has no annotated claims.
    """
    from factible_assets.exchange.averitec import write_averitec
    from factible_assets.exchange.claim_review_writing import reviews_of_corpus
    from factible_assets.exchange.claims import claims_of_corpus
    from factible_assets.exchange.fever import write_fever

    corpus = reading.corpus(name)
    if corpus is None:
        _note_problems(reading.problems)
        known = ", ".join(each.name for each in reading.corpora)
        raise CliError(f"There is no corpus {plain(name)!r}.", f"Corpora: {plain(known)}.")
    claims = list(claims_of_corpus(corpus))
    if not claims:
        raise CliError(
            f"The corpus {plain(name)} has no annotated claims, so there is nothing to export.",
            f"Annotate its videos in {corpus.file}, or export results: factible export",
        )
    if form is CorpusExport.AVERITEC:
        return write_averitec(claims), len(claims)
    if form is CorpusExport.FEVER:
        return "".join(write_fever(claims)), len(claims)
    reviews = reviews_of_corpus(name, claims)
    if reviews.unjudged:
        note(f"{reviews.unjudged} claims without a stance are left out: there is no rating of them")
    return reviews.text, reviews.count


def _read_files(files: list[Path]) -> CorporaReading:
    from factible_assets.corpora import CorporaReading, FileProblem, load_corpus

    corpora: list[Corpus] = []
    problems: list[FileProblem] = []
    for file in files:
        reading = load_corpus(file)
        corpora += reading.corpora
        problems += reading.problems
        problems += [
            FileProblem(ignored, None, "This is no corpus. Begin it with videos: and a list.")
            for ignored in reading.ignored
        ]
    return CorporaReading(tuple(corpora), tuple(problems))


def _as_document(listed: CorpusVideo) -> dict[str, object]:
    return {
        **listed.video.model_dump(mode="json"),
        "web": listed.web,
        "transcript": str(listed.transcript) if listed.transcript else None,
        "annotated_claims": None if listed.claims is None else len(listed.claims),
        "claim_count": listed.claim_count,
        "published_before": listed.published_before,
        "file": str(listed.file),
        "line": listed.line,
    }


def _print_videos(videos: list[CorpusVideo]) -> None:
    from rich.table import Table

    table = Table()
    for heading in ("id", "title", "corpus", "web", "transcript"):
        table.add_column(heading, overflow="fold")
    table.add_column("annotated claims", justify="right")
    for listed in videos:
        count = "–" if listed.claim_count is None else f"({listed.claim_count})"
        table.add_row(
            plain(listed.video.video_id),
            plain(listed.video.title),
            plain(listed.video.corpus or "–"),
            listed.web,
            "file" if listed.transcript else "YouTube",
            count if listed.claims is None else str(len(listed.claims)),
        )
    stdout().print(table)


def _note_problems(problems: Iterable[FileProblem]) -> None:
    for problem in problems:
        note(f"problem: {problem}")
