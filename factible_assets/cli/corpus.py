"""`factible corpus` and `forget`: manage the lists of videos, and remove videos."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Exit, Option, Typer, echo

from factible_assets.cli.arguments import Output, read_corpora
from factible_assets.cli.output import note, output_mode, result, show_rows, table
from factible_assets.corpora.editing import remove_video
from factible_assets.corpora.format import corpus_json_schema
from factible_assets.corpora.reading import Corpus, CorpusVideo, load_corpora, load_corpus
from factible_assets.corpora.writing import LOCAL_CORPUS, list_new_video
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.exchange import ImportFormat
from factible_assets.exchange.averitec import write_averitec
from factible_assets.exchange.claim_review_export import reviews_of_corpus
from factible_assets.exchange.fever import write_fever
from factible_assets.exchange.importing import import_corpus
from factible_assets.runs.targets import resolve
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import counted, plain
from resources.files import slug, write_whole
from resources.text_files import FileProblem
from resources.transcripts.youtube_ids import bare_id, is_on_youtube, is_video_id

app = Typer()
_ALL_LISTED = "All videos: factible corpus list"


@app.command("add")
def add(
    video: Annotated[
        str,
        Argument(
            help="A YouTube URL or id, a transcript file or recording, an id of your own, or the "
            "address of a podcast feed."
        ),
    ],
    *,
    transcript: Annotated[
        Path | None, Option(help="Its captions; the command copies them to the corpus.")
    ] = None,
    media: Annotated[
        Path | None, Option(help="Its recording, for speech recognition; copied likewise.")
    ] = None,
    title: Annotated[str | None, Option(help="The title.")] = None,
    channel: Annotated[str | None, Option(help="The publisher.")] = None,
    language: Annotated[str | None, Option(help="The language, such as en.")] = None,
    published_on: Annotated[str | None, Option(metavar="YYYY-MM-DD", help="The day.")] = None,
    web: Annotated[str | None, Option(help="The web for its evidence.")] = None,
    corpus: Annotated[
        Path | None,
        Option(help="The file (default: local.yaml in the data folder, or the podcast's name)."),
    ] = None,
    limit: Annotated[
        int | None, Option(min=1, help="The number of episodes, from the top of the feed.")
    ] = None,
) -> None:
    """Add a video, or the episodes of a podcast, to a corpus file.

    A check of an episode fetches the transcript that the feed links to. Without one it fetches the
    recording and recognises the speech. Run the same command later to add new episodes.

    Example: factible corpus add talk.vtt

    Example: factible corpus add my-talk --transcript talk.vtt --title "What everybody knows"

    Example: factible corpus add https://example.org/podcast.xml --limit 20
    """
    settings = load_settings()
    if video.startswith(("https://", "http://")) and not is_on_youtube(video):
        if any((transcript, media, title, channel, language, published_on)):
            raise UsageError(
                "A feed describes its episodes itself.", "Give only --corpus, --web and --limit."
            )
        _add_feed(video, settings, corpus, web, limit)
        return
    if transcript is None and media is None and Path(video).is_file():
        target = resolve(video, title, settings)
        video, transcript, media = target.video_id, target.transcript, target.media
        title = target.title or title
    file = corpus or settings.ensure_home() / "corpora" / LOCAL_CORPUS
    entry = list_new_video(
        file,
        bare_id(video),
        listing=load_corpora(settings.corpus_folders),
        transcript=transcript,
        media=media,
        title=title,
        channel=channel,
        language=language,
        published_on=published_on,
        web=web,
    )
    result({"video_id": entry.video_id, "corpus": file}, f"{file} now lists {entry.video_id}")
    if corpus is None:
        note(f"Check it with: factible check -- {plain(entry.video_id)}")


def _add_feed(
    address: str, settings: Settings, corpus: Path | None, web: str | None, limit: int | None
) -> None:
    # They load clients.
    from factible_assets.corpora.podcast import list_feed
    from factible_assets.services.transcripts import fetch_feed

    feed = asyncio.run(fetch_feed(address, settings))
    file = corpus or settings.ensure_home() / "corpora" / f"{slug(feed.title)}.yaml"
    listing = list_feed(file, feed, address, web=web, limit=limit)
    if feed.without_words:
        counts = counted(feed.without_words, "item has", "items have")
        note(f"left out: {counts} neither a transcript nor a recording")
    if feed.beyond_limit:
        note(f"left out: {counted(feed.beyond_limit, 'episode')} far back in the feed")
    result(
        {"corpus": file, "title": feed.title, "added": listing.added},
        f"{counted(len(listing.added), 'episode')} of {plain(feed.title, 120)} added to {file}",
    )


@app.command("remove")
def remove(
    video: Annotated[str, Argument(help="A YouTube URL or id, or the id of a listed video.")],
    *,
    corpus: Annotated[
        Path | None, Option(help="The file (default: the data folder's file that lists it).")
    ] = None,
) -> None:
    """Remove a video from a corpus file, so that factible no longer checks it.

    The results stay. factible forget removes them.

    Example: factible corpus remove my-talk
    """
    settings, video_id = load_settings(), bare_id(video)
    listed = load_corpora(settings.corpus_folders).find(video_id)
    if corpus is None and listed is None:
        raise FactibleError(f"No corpus lists a video {plain(video_id, 120)}.", _ALL_LISTED)
    file = corpus or (listed.file if listed else Path())
    if corpus is None and settings.project_corpora in file.parents:
        raise FactibleError(
            f"{file}, which lists the video {plain(video_id)}, belongs to the program.",
            "To change that file anyway, name it with --corpus.",
        )
    freed = remove_video(file, video_id)
    result(
        {"video_id": video_id, "corpus": file, "left_beside": freed},
        f"{file} no longer lists {plain(video_id)}",
        *(f"{path} stays, but no entry names it any more" for path in freed if path.exists()),
    )


@app.command("list")
def list_(
    *, everything: Annotated[bool, Option("--all", help="Also videos on demand.")] = False
) -> None:
    """List the videos of all corpora: the project's and your own.

    Example: factible corpus list --json
    """
    reading = read_corpora(load_settings())
    documents = [
        _listing(entry) for entry in (reading.everything() if everything else reading.videos())
    ]
    columns = ("id: video_id", "title", "corpus", "web", "transcript: source")
    show_rows(documents, (*columns, "annotated claims: claims"))
    for corpus in () if everything else reading.corpora:
        if corpus.on_demand:
            note(f"{corpus.name} has {len(corpus.videos)} more: factible corpus list --all")


def _listing(listed: CorpusVideo) -> dict[str, Any]:
    source = "podcast" if listed.entry.transcript_url else "recording"
    if listed.transcript or is_video_id(listed.video.video_id):
        source = "file" if listed.transcript else "YouTube"
    annotated = None if listed.claims is None else len(listed.claims)
    count = listed.entry.claim_count
    return {
        **listed.video.model_dump(mode="json"),
        "web": listed.web,
        "source": source,
        "transcript": listed.transcript,
        "annotated_claims": annotated,
        "claim_count": count,
        # In brackets if only their number is known.
        "claims": f"({count})" if annotated is None and count is not None else annotated,
        "published_before": listed.entry.published_before,
        "file": listed.file,
        "line": listed.line,
    }


@app.command("validate")
def validate(
    files: Annotated[list[Path] | None, Argument(help="Corpus files (default: all).")] = None,
) -> None:
    """Check corpus files, and print each problem as file:line with its remedy.

    Example: factible corpus validate corpora/everyday_beliefs.yaml
    """
    readings = [load_corpus(file) for file in files or ()]
    if not files:
        # The corpus folders may hold other files too.
        readings = [replace(load_corpora(load_settings().corpus_folders), ignored=())]
    words = "This is no corpus. Begin it with videos: and a list."
    problems = [problem for reading in readings for problem in reading.problems]
    problems += [FileProblem(file, None, words) for reading in readings for file in reading.ignored]
    result(
        [
            {"file": problem.file, "line": problem.line, "problem": problem.sentence}
            for problem in problems
        ],
        *map(str, problems),
    )
    if problems:
        raise Exit(ExitCode.BAD_INPUT)
    videos = sum(1 for reading in readings for _ in reading.everything())
    corpora = sum(len(reading.corpora) for reading in readings)
    note(f"{counted(videos, 'video')} in {counted(corpora, 'corpus', 'corpora')}, no problems")


@app.command("import")
def import_(
    path: Annotated[
        Path, Argument(help="A file of claims, a corpus file, or a published evaluation folder.")
    ],
    *,
    form: Annotated[
        ImportFormat, Option("--format", "-f", help="The format; auto detects it.")
    ] = "auto",
    name: Annotated[str | None, Option(help="The corpus's name (default: the path's).")] = None,
    to: Annotated[Path | None, Option(help="The folder (default: the data folder's).")] = None,
    web: Annotated[
        str | None,
        Option(help="The web for evidence (default: archive for published runs, else auto)."),
    ] = None,
    limit: Annotated[int | None, Option(min=1, help="Only the first claims of a list.")] = None,
    replace: Annotated[bool, Option("--replace", help="Overwrite a corpus of that name.")] = False,
) -> None:
    """Import annotated claims or videos as a corpus with transcripts.

    Formats: published (a folder with videos.csv, runs/ and ground_truth/), corpus (a corpus file,
    such as one on demand), averitec (JSON), fever (JSON Lines, also Climate-FEVER's), claimreview
    (JSON-LD), csv (a table with a column claim). A claim without a video becomes an entry of its
    own; its date limits its evidence.

    Example: factible corpus import published/ --web archive:recorded

    Example: factible corpus import averitec/dev.json --name averitec-dev --limit 100
    """
    settings = load_settings()
    if not path.exists():
        raise FactibleError(f"There is no file or folder {path}.", "Check the path.")
    imported = import_corpus(
        path,
        to or settings.ensure_home() / "corpora",
        form=form,
        name=name,
        web=web,
        limit=limit,
        replace=replace,
        listing=load_corpora(settings.corpus_folders),
    )
    for sentence in imported.left_out:
        note(f"  left out: {plain(sentence)}")
    videos, claims = len(imported.video_ids), counted(imported.claims, "annotated claim")
    result(
        {
            "corpus": imported.file,
            "name": imported.name,
            "videos": videos,
            "claims": imported.claims,
            "transcripts": imported.transcripts,
            "left_out": imported.left_out,
        },
        f"{counted(videos, 'video')} with {claims} → {imported.file}",
    )


@app.command("export")
def export(
    name: Annotated[str, Argument(help="The name of a corpus with annotated claims.")],
    *,
    form: Annotated[
        Literal["averitec", "fever", "claimreview"],
        Option("--format", "-f", help="The format to write."),
    ],
    output: Output = None,
) -> None:
    """Write a corpus's annotated claims (the ground truth) for other programs.

    Example: factible corpus export everyday-beliefs --format averitec -o beliefs.json

    factible export writes the results of checks.
    """
    if output_mode.json and output is None:
        raise UsageError("--json describes a written file.", "Name the file with --output.")
    corpus = _named_corpus(name, load_settings())
    claims = [(listed, claim) for listed in corpus.videos for claim in listed.claims or ()]
    if not claims:
        raise FactibleError(
            f"The corpus {plain(name)} has no annotated claims to export.",
            f"Annotate its videos in {corpus.file}, or export results: factible export",
        )
    count, text = len(claims), ""
    if form == "claimreview":
        reviews = reviews_of_corpus(name, claims)
        text, count = reviews.text, reviews.count
        if reviews.unjudged:
            words = counted(reviews.unjudged, "claim")
            note(f"left out: {words} without a stance, so without a rating")
    else:
        text = write_averitec(claims) if form == "averitec" else "".join(write_fever(claims))
    document = {"corpus": name, "format": form, "path": output, "claims": count}
    _write(text, output, document, f"{counted(count, 'annotated claim')} → {output}")


def _named_corpus(name: str, settings: Settings) -> Corpus:
    reading = read_corpora(settings)
    corpus = reading.corpus(name)
    if corpus is None:
        known = ", ".join(corpus.name for corpus in reading.corpora)
        raise FactibleError(f"There is no corpus {plain(name)!r}.", f"Corpora: {plain(known)}.")
    return corpus


def _write(text: str, output: Path | None, document: object, words: str) -> None:
    """Print a text, or write it to a file and report that."""
    if output is None:
        echo(text, nl=False)
        return
    write_whole(output, text.encode())
    result(document, words)


@app.command("schema")
def schema(output: Output = None) -> None:
    """Print the JSON Schema of corpus files, for editors.

    An editor finds it by a first line such as: # yaml-language-server: $schema=corpus.schema.json

    Example: factible corpus schema -o my-corpora/corpus.schema.json
    """
    _write(corpus_json_schema(), output, {"path": output}, str(output))


def forget(
    videos: Annotated[list[str] | None, Argument(help="Ids of videos, or YouTube URLs.")] = None,
    *,
    corpus: Annotated[str | None, Option(help="All videos of this corpus, and its file.")] = None,
    yes: Annotated[bool, Option("--yes", help="Remove; without it the command counts.")] = False,
) -> None:
    """Remove a video with all its results and its history.

    That includes the rows of all tables, pages that no other video uses, cached answers of searches
    and models, prompts, reports, exports, Dagster's runs and partition, and entries in the data
    folder's corpora. The command rewrites the warehouse and its published copy, so that their free
    space holds nothing of it. Without --yes it only counts. There is no undo.

    Example: factible forget my-talk

    Example: factible forget --yes -- -LDjqcvSbP4
    """
    from factible_assets.runs.forget import forget as forget_videos

    settings = load_settings()
    if bool(videos) == (corpus is not None):
        raise UsageError("Name either videos or --corpus.")
    video_ids = list(dict.fromkeys(bare_id(video) for video in videos or ()))
    corpus_file: Path | None = None
    if corpus is not None:
        named = _named_corpus(corpus, settings)
        video_ids = [entry.video.video_id for entry in named.videos]
        corpus_file = named.file if settings.home_corpora in named.file.parents else None
    forgotten = forget_videos(video_ids, settings, dry_run=not yes)
    if yes and corpus_file is not None:
        corpus_file.unlink(missing_ok=True)
    rows = [(video.video_id, place, n) for video in forgotten for place, n in video.counts.items()]
    headings = ("video", "what", "removed" if yes else "would be removed")
    result(forgotten, table(headings, rows) if rows else "There was nothing to remove.")
    for remark in dict.fromkeys(remark for video in forgotten for remark in video.remarks):
        note(plain(remark))
    if not yes:
        videos_text = counted(len(forgotten), "video")
        note(f"Nothing was removed. To remove {videos_text} for good, add --yes.")
        return
    files = dict.fromkeys(str(path) for video in forgotten for path in video.still_named_in)
    if files:
        note(
            f"Still named in {plain(', '.join(files))}: in rows of other videos that found it as a "
            "page, or in files that a person added."
        )
        raise Exit(ExitCode.FAILED)
