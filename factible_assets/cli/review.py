"""`factible review`: see how a claim was checked, correct it, check it again, sign a ruling.

What belongs here: arguments, what is shown, the menu. What does not: turning words into actions and
running (running/review.py), what actions change (stages/reviews.py).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, complain, note, print_json, print_table, stdout
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.wording import counted, plain

if TYPE_CHECKING:
    from factible_assets.records import ReviewKind
    from factible_assets.running.review import ClaimFile, Reviewed, Wish
    from factible_assets.settings import Settings

Type = Literal["direct", "alternative", "source", "context"]

_GONE = {"reword_claim", "split_claim", "drop_claim"}
_MENU: tuple[tuple[ReviewKind, str], ...] = (
    ("add_query", "ask another query"),
    ("edit_query", "reword a query"),
    ("remove_query", "take a query out"),
    ("block_source", "block a source"),
    ("unblock_source", "take back what was said of a source"),
    ("add_source", "add a source"),
    ("assess", "say what you think of the claim"),
    ("note", "write a note"),
    ("overrule_source", "overrule what a source says, or its rating"),
    ("reword_claim", "reword the claim"),
    ("split_claim", "split the claim"),
    ("drop_claim", "drop the claim"),
    ("restore_claim", "restore a claim that was dropped or split"),
    ("assign", "assign the claim to a person"),
    ("sign", "sign a ruling"),
)


def review(
    video: Annotated[
        str, typer.Argument(help="A checked video (id or YouTube URL).", autocompletion=video_ids)
    ],
    claim: Annotated[
        str | None, typer.Argument(help="The number of a claim, or the beginning of its id.")
    ] = None,
    *,
    add_query: Annotated[
        list[str] | None, typer.Option("--add-query", metavar="TEXT", help="Ask this too.")
    ] = None,
    edit_query: Annotated[
        tuple[int, str] | None,
        typer.Option("--edit-query", metavar="N TEXT", help="Ask this in place of query N."),
    ] = None,
    remove_query: Annotated[
        list[int] | None, typer.Option("--remove-query", metavar="N", help="Do not ask query N.")
    ] = None,
    query_type: Annotated[
        Type | None, typer.Option("--type", help="The search strategy of an added query.")
    ] = None,
    opposite: Annotated[
        bool, typer.Option("--opposite", help="The added query looks for the contrary.")
    ] = False,
    block: Annotated[
        list[str] | None,
        typer.Option("--block", metavar="URL|DOMAIN", help="Never read this source on the claim."),
    ] = None,
    unblock: Annotated[
        list[str] | None,
        typer.Option(
            "--unblock", metavar="URL|DOMAIN", help="Take back what was said of this source."
        ),
    ] = None,
    add_source: Annotated[
        list[str] | None,
        typer.Option("--add-source", metavar="URL", help="Read this page on the claim, always."),
    ] = None,
    overrule: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--overrule",
            metavar="URL STANCE|RATING",
            help="What this source says of the claim, or how it is rated; none takes it back.",
        ),
    ] = None,
    reword: Annotated[
        str | None, typer.Option("--reword", metavar="TEXT", help="The claim in better words.")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", metavar="TEXT", help="A part of the claim; give each of them."),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Do not check this claim; needs --reason.")
    ] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="Take back that it was dropped or split.")
    ] = False,
    add_claim: Annotated[
        str | None,
        typer.Option("--add-claim", metavar="TEXT", help="Check this claim of the video too."),
    ] = None,
    said: Annotated[
        str | None,
        typer.Option("--said", metavar="TEXT", help="Where it is said, as the transcript has it."),
    ] = None,
    assign: Annotated[
        str | None,
        typer.Option("--assign", metavar="NAME", help="Whose claim it is; none: nobody's."),
    ] = None,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="LABEL",
            help="Sign a ruling, in the words of --ruling; none withdraws it.",
        ),
    ] = None,
    ruling: Annotated[
        str | None, typer.Option("--ruling", metavar="TEXT", help="The ruling in prose.")
    ] = None,
    assess: Annotated[
        str | None,
        typer.Option(
            "--assess",
            metavar="STANCE",
            help="Your own verdict: supports, refutes, mixed, unclear; none takes it back.",
        ),
    ] = None,
    remark: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="A note on the claim.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept with the changes.")
    ] = None,
    reviewer: Annotated[
        str | None,
        typer.Option(
            "--reviewer",
            metavar="NAME",
            help="Who you are; else FACTIBLE_REVIEWER, else the name of your login.",
        ),
    ] = None,
    rerun: Annotated[
        bool | None,
        typer.Option(
            "--rerun/--no-rerun",
            help="Check the claim again; else that is done if more than opinions changed.",
        ),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show who changed what.")] = False,
    as_json: AsJson = False,
) -> None:
    """Correct a claim and how it was checked, check it alone again, and sign a ruling.

    Without a claim, the claims of the video are listed. With one, its verdict, queries and sources
    are shown, and on a terminal a menu offers what can be changed. Corrections hold for every later
    check of the claim too, and who made them is kept. A ruling stands beside the verdict.

    Example: factible review everyday-beliefs-talk

    Example: factible review everyday-beliefs-talk 1 --block example.org --reason "sells pills"

    Example: factible review everyday-beliefs-talk 1 --sign refuted --ruling "It boils at 71 °C."

    An id that begins with a dash follows two dashes: factible review --json -- -LDjqcvSbP4 1
    """
    from factible_assets.running.review import (
        Wish,
        new_claim,
        open_claim,
        open_video,
        read_history,
        reviewer_name,
    )
    from factible_assets.settings import load_settings

    wishes = [
        *(
            Wish("add_query", text, query_type=query_type, opposite=opposite)
            for text in add_query or ()
        ),
        *([Wish("edit_query", edit_query[1], number=edit_query[0])] if edit_query else ()),
        *(Wish("remove_query", number=number) for number in remove_query or ()),
        *(Wish("block_source", source) for source in block or ()),
        *(Wish("unblock_source", source) for source in unblock or ()),
        *(Wish("add_source", source) for source in add_source or ()),
        *([Wish("overrule_source", overrule[0], value=overrule[1])] if overrule else ()),
        *([Wish("reword_claim", reword)] if reword is not None else ()),
        *([Wish("split_claim", "\n".join(map(plain, split)))] if split else ()),
        *([Wish("drop_claim")] if drop else ()),
        *([Wish("restore_claim")] if restore else ()),
        *([Wish("add_claim", add_claim, said=said)] if add_claim is not None else ()),
        *([Wish("assign", assign)] if assign is not None else ()),
        *([Wish("sign", sign, reason=ruling)] if sign is not None else ()),
        *([Wish("assess", assess)] if assess is not None else ()),
        *([Wish("note", remark)] if remark is not None else ()),
    ]
    settings = load_settings()
    if history:
        _refuse(wishes, "--history shows what was done and changes nothing.")
        _print_history(read_history(video, claim, settings), as_json=as_json)
        return
    if claim is not None and add_claim is not None:
        _refuse(claim, "A claim that is added is none of the video's yet.", "Leave its number out.")
    if claim is None and add_claim is not None:
        file = new_claim(video, add_claim, settings)
        name = reviewer_name(reviewer, settings)
        _apply(file, wishes, name, reason, rerun, settings, as_json=as_json)
    if claim is None:
        _refuse(wishes or rerun, "Which claim?", f"factible review -- {plain(video)} lists them.")
        _print_claims(open_video(video, settings), as_json=as_json)
        return
    file = open_claim(video, claim, settings)
    if not wishes and not rerun:
        _show(file, as_json=as_json)
        if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return
        wishes = _menu(file)
        if not wishes:
            note("Nothing was changed.")
            return
    name = reviewer_name(reviewer, settings)
    _apply(file, wishes, name, reason, rerun, settings, as_json=as_json)


def _refuse(wanted: Any, words: str, remedy: str = "Leave the other options out.") -> None:
    if wanted:
        raise CliError(words, remedy, ExitCode.USAGE)


def _apply(
    file: ClaimFile,
    wishes: list[Wish],
    name: str,
    reason: str | None,
    rerun: bool | None,
    settings: Settings,
    *,
    as_json: bool,
) -> None:
    from factible_assets.cli.progress import watching
    from factible_assets.running.review import carry_out, open_claim, planned

    actions = planned(file, wishes, name, reason)
    done = carry_out(file, actions, settings, rerun=rerun, watch=watching, say=note)
    for failure in done.failures:
        complain(failure)
    after = [open_claim(file.video_id, each, settings) for each in done.claims]
    if as_json:
        print_json(_outcome_document(file, after, done))
    else:
        _print_outcome(file, after, done)
    raise typer.Exit(done.code)


# --- Showing ------------------------------------------------------------------------------------


def _print_claims(files: list[ClaimFile], *, as_json: bool) -> None:
    if as_json:
        print_json([_brief(file) for file in files])
        return
    print_table(
        ("", "claim", "verdict", "reviewed by"),
        (
            (
                str(file.number),
                plain(file.claim.text),
                _verdict_words(file),
                ", ".join(dict.fromkeys(plain(each.reviewer) for each in file.actions)) or "–",
            )
            for file in files
        ),
        title=plain(files[0].title),
    )
    note(f"One of them: factible review -- {plain(files[0].video_id)} 1")


def _verdict_words(file: ClaimFile) -> str:
    from factible_assets.wording import verdict_words

    if file.gone is not None:
        return "dropped" if file.gone.action == "drop_claim" else "split"
    if file.verdict is None:
        return "not judged"
    confidence = f", {file.verdict.confidence} confidence" if file.verdict.confidence else ""
    return f"{verdict_words(file.verdict)}{confidence}"


def _show(file: ClaimFile, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(file))
        return
    console = stdout()
    console.print(f"{file.number}. {plain(file.claim.text)}", style="bold")
    console.print(f"   verdict: {_verdict_words(file)}")
    if file.verdict is not None:
        console.print(f"   {plain(file.verdict.summary)}")
    for said in file.standing_words:
        console.print(f"   {plain(said)}", style="cyan")
    console.print("\nqueries", style="bold")
    for number, query in enumerate(file.queries, start=1):
        kind = f"{query.query_type}{', seeks the contrary' if query.seeks_opposite else ''}"
        by = ", worded by a reviewer" if query.basis == "reviewer" else ""
        words = plain(query.text) or f"(not written: {plain(query.reason or '')})"
        console.print(f"   {number}. {words}  [{kind}{by}]")
    print_table(
        ("says", "rating", "source", "why"),
        (
            (
                row.stance or row.status.replace("_", " "),
                row.rating.replace("_", " "),
                plain(row.canonical_url),
                plain(row.quote or row.reason or row.summary or "", 160),
            )
            for row in file.sources
        ),
        title="sources",
    )


def _print_outcome(before: ClaimFile, after: list[ClaimFile], done: Reviewed) -> None:
    from factible_assets.stages.reviews import CLAIM_KINDS

    print(f"claim: {plain(before.claim.text)}")
    for action in done.actions:
        print(f"{plain(action.reviewer)} {_act_words(action.model_dump(), before)}")
    for remark in done.remarks:
        note(remark)
    if done.run_id is None or done.code is ExitCode.FAILED:
        if done.waits:
            mine = f"{plain(before.video_id)} {before.claim.claim_id[:8]}"
            waits = any(action.action in CLAIM_KINDS for action in done.actions)
            checked = f"it is checked with: factible review --rerun -- {mine}"
            note(f"Recorded; {checked if waits else 'the next check of the claim keeps to it.'}")
    else:
        for each in after:
            if each.claim.claim_id != before.claim.claim_id:
                print(f"claim: {plain(each.claim.text)}")
            old, new = _verdict_words(before), _verdict_words(each)
            print(f"verdict: {old} → {new}" if old != new else f"verdict: {new}, as before")
            left_out = [row for row in each.sources if (row.reason or "").startswith("Blocked by")]
            for row in left_out:
                print(f"left out: {plain(row.canonical_url)}: {plain(row.reason or '')}")
        note(f"{counted(done.others, 'other claim')} stayed as they were (run {done.run_id[:8]}).")
    print(f"report: {done.report}")


def _act_words(action: dict[str, Any], file: ClaimFile | None = None) -> str:
    """Say an action after the name of who did it."""
    from factible_assets.stages.reviews import QUERY_KINDS
    from factible_assets.wording import act_words

    kind, target = action["action"], action["target"]
    asked = {query.query_id: query.text for query in file.queries} if file else {}
    query = asked.get(target) or (action.get("target_words") if kind in QUERY_KINDS else None)
    because = f" ({action['reason']})" if action["reason"] else ""
    return plain(f"{act_words(kind, target, action['value'], query)}{because}")


def _print_history(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    if not rows:
        typer.echo("Nobody has reviewed anything here.")
        return
    print_table(
        ("when (UTC)", "who", "what", "claim", "applied by run", "verdict"),
        (
            (
                f"{row['acted_at']:%Y-%m-%d %H:%M}",
                plain(row["reviewer"]),
                _act_words(row),
                plain(row["claim"] or row["claim_id"], 60),
                row["run_id"][:8] if row["run_id"] else "–",
                " → ".join(
                    dict.fromkeys(
                        row[when] or "incomplete" for when in ("stance_before", "stance_after")
                    )
                )
                # A run has no verdict on words that it no longer checks.
                if row["run_id"] and row["action"] not in _GONE
                else "–",
            )
            for row in rows
        ),
        title="Who changed what",
    )


# --- JSON ---------------------------------------------------------------------------------------


def _brief(file: ClaimFile) -> dict[str, Any]:
    return {
        "number": file.number,
        "claim_id": file.claim.claim_id,
        "claim": file.claim.text,
        "verdict": file.verdict.model_dump(mode="json") if file.verdict else None,
        "reviewers": list(dict.fromkeys(action.reviewer for action in file.actions)),
        "assigned_to": file.assigned_to,
        "ruling": file.ruling.model_dump(mode="json") if file.ruling else None,
        "gone": file.gone.action if file.gone else None,
    }


def _document(file: ClaimFile) -> dict[str, Any]:
    return {
        **_brief(file),
        "queries": [query.model_dump(mode="json") for query in file.queries],
        "sources": [row.model_dump(mode="json") for row in file.sources],
        "actions": [action.model_dump(mode="json") for action in file.actions],
        "standing": list(file.standing_words),
    }


def _outcome_document(before: ClaimFile, after: list[ClaimFile], done: Reviewed) -> dict[str, Any]:
    return {
        **_document(after[0]),
        "claims": [_brief(file) for file in after],
        "verdict_before": before.verdict.model_dump(mode="json") if before.verdict else None,
        "recorded": [action.model_dump(mode="json") for action in done.actions],
        "remarks": list(done.remarks),
        "run_id": done.run_id,
        "report": done.report,
        "exit_code": int(done.code),
    }


# --- The menu -----------------------------------------------------------------------------------


def _menu(file: ClaimFile) -> list[Wish]:
    """Ask what to change until the user is done; Ctrl-C and Ctrl-D leave without changes."""
    wishes: list[Wish] = []
    try:
        while True:
            print("\nWhat would you change?")
            for number, (_, words) in enumerate(_MENU, start=1):
                print(f"  {number}  {words}")
            print(f"  0  {'done: record it and check the claim again' if wishes else 'leave'}")
            wish = _asked(input("> ").strip())
            if wish is None:
                return wishes
            if wish:
                wishes += _tried(file, wishes, wish)
    except (EOFError, KeyboardInterrupt):
        print()
        return []


def _asked(answer: str) -> list[Wish] | None:
    from factible_assets.running.review import Wish

    if answer in {"", "0", "q"}:
        return None
    if not answer.isdecimal() or not 1 <= int(answer) <= len(_MENU):
        print(f"Give a number from 0 to {len(_MENU)}.")
        return []
    kind = _MENU[int(answer) - 1][0]
    number = None
    if kind in {"edit_query", "remove_query"}:
        given = input("number of the query: ").strip()
        number = int(given) if given.isdecimal() else 0
    prompts = {
        "add_query": "query: ",
        "edit_query": "new words: ",
        "block_source": "URL or domain: ",
        "unblock_source": "URL or domain: ",
        "add_source": "URL: ",
        "overrule_source": "URL: ",
        "reword_claim": "the claim in better words: ",
        "assign": "name, or none: ",
        "assess": "supports, refutes, mixed, unclear or none: ",
        "sign": "ruling, or none: ",
        "note": "note: ",
    }
    text = input(prompts[kind]).strip() if kind in prompts else None
    value = input("stance or rating, or none: ") if kind == "overrule_source" else None
    if kind == "split_claim":
        text = "\n".join(iter(lambda: input("a part (empty: no more): ").strip(), ""))
    why = "the ruling in prose: " if kind == "sign" else "why (may be empty): "
    reason = None if kind == "note" else input(why).strip() or None
    return [Wish(kind, text, number=number, value=value, reason=reason)]


def _tried(file: ClaimFile, before: list[Wish], wish: list[Wish]) -> list[Wish]:
    """Return a wish if it can be granted after those before it; else say why not."""
    from factible_assets.cli.errors import sentence
    from factible_assets.running.review import planned

    try:
        planned(file, [*before, *wish], "reviewer", None)
    except FactibleError as error:
        print(sentence(error))
        return []
    return wish
