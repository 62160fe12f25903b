"""`factible review`: see how a claim was checked, correct it, check it again, sign a ruling.

What belongs here: arguments, what is shown, the menu. What does not: turning words into actions and
running (runs/review.py), what actions change (stages/reviews.py).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from typer import Argument, Exit, Option

from factible_assets.cli.arguments import video_ids
from factible_assets.cli.output import (
    note,
    output_mode,
    print_error,
    result,
    sentence,
    stdout,
    table,
)
from factible_assets.errors import FactibleError, UsageError
from factible_assets.settings import load_settings
from factible_assets.stages.reviews import CLAIM_KINDS, QUERY_KINDS
from factible_assets.wording import act_words, counted, plain, sureness, verdict_words

if TYPE_CHECKING:  # help needs none of what reviews
    from factible_assets.records import ReviewAction, ReviewKind
    from factible_assets.runs.review import Change, ClaimFile, Reviewed

Given: TypeAlias = str | None
Several: TypeAlias = list[str] | None

_GONE = {"reword_claim", "split_claim", "drop_claim"}
_MENU: Mapping[ReviewKind, tuple[str, str | None]] = {
    "add_query": ("ask another query", "query: "),
    "edit_query": ("reword a query", "new words: "),
    "remove_query": ("take a query out", None),
    "block_source": ("block a source", "URL or domain: "),
    "unblock_source": ("take back what was said of a source", "URL or domain: "),
    "add_source": ("add a source", "URL: "),
    "assess": ("say what you think of the claim", "supports, refutes, mixed, unclear or none: "),
    "note": ("write a note", "note: "),
    "overrule_source": ("overrule what a source says, or its rating", "URL: "),
    "reword_claim": ("reword the claim", "the claim in better words: "),
    "split_claim": ("split the claim", None),
    "drop_claim": ("drop the claim", None),
    "restore_claim": ("restore a claim that was dropped or split", None),
    "assign": ("assign the claim to a person", "name, or none: "),
    "sign": ("sign a ruling", "ruling, or none: "),
}
"""What the menu offers, and what it asks for the text of it."""


def _said(metavar: str, words: str) -> Any:
    return Option(metavar=metavar, help=words)


def review(
    video: Annotated[
        str, Argument(help="A checked video (id or YouTube URL).", autocompletion=video_ids)
    ],
    claim: Annotated[Given, Argument(help="A claim's number, or how its id begins.")] = None,
    *,
    add_query: Annotated[Several, _said("TEXT", "Ask this too.")] = None,
    edit_query: Annotated[tuple[int, str] | None, _said("N TEXT", "Ask this for query N.")] = None,
    remove_query: Annotated[list[int] | None, _said("N", "Do not ask query N.")] = None,
    query_type: Annotated[
        Literal["direct", "alternative", "source", "context"] | None,
        Option("--type", help="The search strategy of an added query."),
    ] = None,
    opposite: Annotated[bool, Option("--opposite", help="It looks for the contrary.")] = False,
    block: Annotated[Several, _said("URL|DOMAIN", "Never read this source on the claim.")] = None,
    unblock: Annotated[Several, _said("URL|DOMAIN", "Take back what was said of it.")] = None,
    add_source: Annotated[Several, _said("URL", "Read this page on the claim, always.")] = None,
    overrule: Annotated[
        tuple[str, str] | None,
        _said(
            "URL STANCE|RATING",
            "What this source says of the claim, or how it is rated; none takes it back.",
        ),
    ] = None,
    reword: Annotated[Given, _said("TEXT", "The claim in better words.")] = None,
    split: Annotated[Several, _said("TEXT", "A part of the claim; give each of them.")] = None,
    drop: Annotated[bool, Option("--drop", help="Do not check it; needs --reason.")] = False,
    restore: Annotated[bool, Option("--restore", help="Take a drop or a split back.")] = False,
    add_claim: Annotated[Given, _said("TEXT", "Check this claim of the video too.")] = None,
    said: Annotated[Given, _said("TEXT", "Where it is said, as the transcript has it.")] = None,
    assign: Annotated[Given, _said("NAME", "Whose claim it is; none: nobody's.")] = None,
    sign: Annotated[Given, _said("LABEL", "Sign a ruling; none withdraws it.")] = None,
    ruling: Annotated[Given, _said("TEXT", "The ruling in prose.")] = None,
    assess: Annotated[
        Given,
        _said("STANCE", "Your own verdict: supports, refutes, mixed, unclear; none takes it back."),
    ] = None,
    remark: Annotated[Given, Option("--note", metavar="TEXT", help="A note on the claim.")] = None,
    reason: Annotated[Given, _said("TEXT", "Why; kept with the changes.")] = None,
    reviewer: Annotated[
        Given, _said("NAME", "Who you are; else FACTIBLE_REVIEWER, else the name of your login.")
    ] = None,
    rerun: Annotated[
        bool | None,
        Option(help="Check the claim again; else that is done if more than opinions changed."),
    ] = None,
    history: Annotated[bool, Option("--history", help="Show who changed what.")] = False,
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
    from factible_assets.runs.review import (
        Change,
        new_claim,
        open_claim,
        open_video,
        read_history,
        reviewer_name,
    )

    texts: dict[ReviewKind, Sequence[str | None]] = {
        "block_source": block or (),
        "unblock_source": unblock or (),
        "add_source": add_source or (),
        "reword_claim": [] if reword is None else [reword],
        "split_claim": ["\n".join(map(plain, split))] if split else (),
        "drop_claim": [None] * drop,
        "restore_claim": [None] * restore,
        "assign": [] if assign is None else [assign],
        "assess": [] if assess is None else [assess],
        "note": [] if remark is None else [remark],
    }
    asked = [
        *(
            Change("add_query", each, query_type=query_type, opposite=opposite)
            for each in add_query or ()
        ),
        *([Change("edit_query", edit_query[1], number=edit_query[0])] if edit_query else ()),
        *(Change("remove_query", number=number) for number in remove_query or ()),
        *([Change("overrule_source", overrule[0], value=overrule[1])] if overrule else ()),
        *([] if add_claim is None else [Change("add_claim", add_claim, said=said)]),
        *([] if sign is None else [Change("sign", sign, reason=ruling)]),
        *(Change(kind, each) for kind, given in texts.items() for each in given),
    ]
    for option, given, partner, wanted in (
        ("--ruling", ruling, "--sign", sign),
        ("--said", said, "--add-claim", add_claim),
        ("--type", query_type, "--add-query", add_query),
        ("--opposite", opposite or None, "--add-query", add_query),
        ("--reason", reason, "a change", asked or None),
    ):
        lone = given is not None and wanted is None
        _refuse(lone, f"{option} goes with {partner}.", "Give both, or leave it out.")
    settings = load_settings()
    if history:
        _refuse(asked, "--history shows what was done and changes nothing.")
        _show_history(read_history(video, claim, settings))
        return
    if claim is None and add_claim is None:
        _refuse(asked or rerun, "Which claim?", f"factible review -- {plain(video)} lists them.")
        _show_claims(open_video(video, settings))
        return
    if add_claim is not None:
        _refuse(claim, "A claim that is added is none of the video's yet.", "Leave its number out.")
        file = new_claim(video, add_claim, settings)
    else:
        file = open_claim(video, claim or "", settings)
        if not asked and not rerun:
            _show(file)
            if output_mode.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
                return
            asked = _menu(file)
            if not asked:
                note("Nothing was changed.")
                return
    _apply(file, asked, reviewer_name(reviewer, settings), reason, rerun)


def _refuse(wanted: Any, words: str, remedy: str = "Leave the other options out.") -> None:
    if wanted:
        raise UsageError(words, remedy)


def _apply(
    file: ClaimFile, asked: list[Change], name: str, reason: str | None, rerun: bool | None
) -> None:
    from factible_assets.cli.progress import watching
    from factible_assets.runs.review import actions_of, carry_out, open_claim

    actions = actions_of(file, asked, name, reason)
    done = carry_out(file, actions, rerun=rerun, watch=watching, say=note)
    for failure in done.checked.failures:
        print_error(failure)
    after = [open_claim(file.video_id, each, file.settings) for each in done.claims]
    document = {
        **_document(after[0]),
        "claims": [_brief(each) for each in after],
        "verdict_before": file.verdict,
        "recorded": actions,
        "remarks": done.remarks,
        "run_id": done.run_id,
        "report": str(done.checked.report),
        "exit_code": int(done.code),
    }
    result(document, *([] if output_mode.json else _outcome(file, after, actions, done)))
    raise Exit(done.code)


# --- Showing ------------------------------------------------------------------------------------


def _brief(file: ClaimFile) -> dict[str, Any]:
    return {
        "number": file.number,
        "claim_id": file.claim.claim_id,
        "claim": file.claim.text,
        "verdict": file.verdict,
        "reviewers": list(dict.fromkeys(action.reviewer for action in file.actions)),
        "assigned_to": file.assigned_to,
        "ruling": file.ruling,
        "gone": file.gone.action if file.gone else None,
    }


def _document(file: ClaimFile) -> dict[str, Any]:
    return {
        **_brief(file),
        "queries": file.queries,
        "sources": file.sources,
        "actions": file.actions,
        "standing": [_told(act, file) for act in file.in_force],
    }


def _verdict_words(file: ClaimFile) -> str:
    if file.gone is not None:
        return "dropped" if file.gone.action == "drop_claim" else "split"
    if file.verdict is None:
        return "not judged"
    confidence = f", {sure} confidence" if (sure := sureness(file.verdict)) else ""
    return f"{verdict_words(file.verdict)}{confidence}"


def _show_claims(files: list[ClaimFile]) -> None:
    briefs = [_brief(file) for file in files]
    rows = (
        (file.number, file.claim.text, _verdict_words(file), ", ".join(brief["reviewers"]) or None)
        for file, brief in zip(files, briefs, strict=True)
    )
    headings = ("", "claim", "verdict", "reviewed by")
    result(briefs, table(headings, rows, title=plain(files[0].rows.video.title)))
    if not output_mode.json:
        note(f"One of them: factible review -- {plain(files[0].video_id)} 1")


def _show(file: ClaimFile) -> None:
    if output_mode.json:
        result(_document(file))
        return
    console = stdout()
    console.print(f"{file.number}. {plain(file.claim.text)}", style="bold")
    console.print(f"   verdict: {_verdict_words(file)}")
    if file.verdict is not None:
        console.print(f"   {plain(file.verdict.summary)}")
    for act in file.in_force:
        console.print(f"   {_told(act, file)}", style="cyan")
    console.print("\nqueries", style="bold")
    for number, query in enumerate(file.queries, start=1):
        kind = f"{query.query_type}{', seeks the contrary' if query.seeks_opposite else ''}"
        by = ", worded by a reviewer" if query.basis == "reviewer" else ""
        words = plain(query.text) or f"(not written: {plain(query.reason or '')})"
        console.print(f"   {number}. {words}  [{kind}{by}]")
    rows = (
        (
            row.stance or row.status.replace("_", " "),
            row.rating.replace("_", " "),
            row.canonical_url,
            plain(row.quote or row.reason or row.summary or "", 160),
        )
        for row in file.sources
    )
    console.print(table(("says", "rating", "source", "why"), rows, title="sources"))


def _outcome(
    before: ClaimFile, after: list[ClaimFile], actions: Sequence[ReviewAction], done: Reviewed
) -> list[str]:
    """Return what came of it in lines; what is beside it is noted."""
    lines = [f"claim: {plain(before.claim.text)}"]
    lines += [_told(action, before) for action in actions]
    for remark in done.remarks:
        note(remark)
    if done.run_id is not None and not done.checked.failures:
        for each in after:
            if each.claim.claim_id != before.claim.claim_id:
                lines.append(f"claim: {plain(each.claim.text)}")
            old, new = _verdict_words(before), _verdict_words(each)
            lines.append(f"verdict: {old} → {new}" if old != new else f"verdict: {new}, as before")
            lines += [
                f"left out: {plain(row.canonical_url)}: {plain(row.reason or '')}"
                for row in each.sources
                if (row.reason or "").startswith("Blocked by")
            ]
        note(f"{counted(done.others, 'other claim')} stayed as they were (run {done.run_id[:8]}).")
    elif done.waits:
        mine = f"{plain(before.video_id)} {before.claim.claim_id[:8]}"
        changes = any(action.action in CLAIM_KINDS for action in actions)
        checked = f"it is checked with: factible review --rerun -- {mine}"
        note(f"Recorded; {checked if changes else 'the next check of the claim keeps to it.'}")
    return [*lines, f"report: {done.checked.report}"]


def _told(act: ReviewAction, file: ClaimFile) -> str:
    house = f", {act.organisation}" if act.organisation else ""
    return f"{plain(act.reviewer + house)} {_act_words(act.model_dump(), file)}"


def _act_words(action: dict[str, Any], file: ClaimFile | None = None) -> str:
    """Say an action after the name of who did it."""
    kind, target = action["action"], action["target"]
    asked = {query.query_id: query.text for query in file.queries} if file else {}
    query = asked.get(target) or (action.get("target_words") if kind in QUERY_KINDS else None)
    because = f" ({action['reason']})" if action["reason"] else ""
    return plain(f"{act_words(kind, target, action['value'], query)}{because}")


def _show_history(acts: list[dict[str, Any]]) -> None:
    rows = []
    for act in acts:
        stances = dict.fromkeys(
            act[when] or "incomplete" for when in ("stance_before", "stance_after")
        )
        # A run has no verdict on words that it no longer checks.
        is_judged = act["run_id"] and act["action"] not in _GONE
        rows.append(
            (
                *(act["acted_at"], act["reviewer"], _act_words(act)),
                plain(act["claim"] or act["claim_id"], 60),
                act["run_id"][:8] if act["run_id"] else None,
                " → ".join(stances) if is_judged else None,
            )
        )
    headings = ("when (UTC)", "who", "what", "claim", "applied by run", "verdict")
    nothing = "Nobody has reviewed anything here."
    result(acts, table(headings, rows, title="Who changed what") if rows else nothing)


# --- The menu -----------------------------------------------------------------------------------


def _menu(file: ClaimFile) -> list[Change]:
    """Ask what to change until the user is done; Ctrl-C and Ctrl-D leave without changes."""
    from factible_assets.runs.review import actions_of

    asked: list[Change] = []
    try:
        while True:
            print("\nWhat would you change?")
            for number, (words, _) in enumerate(_MENU.values(), start=1):
                print(f"  {number}  {words}")
            print(f"  0  {'done: record it and check the claim again' if asked else 'leave'}")
            answer = input("> ").strip()
            if answer in {"", "0", "q"}:
                return asked
            if not answer.isdecimal() or not 1 <= int(answer) <= len(_MENU):
                print(f"Give a number from 0 to {len(_MENU)}.")
                continue
            change = _change([*_MENU][int(answer) - 1])
            try:
                actions_of(file, [*asked, change], "reviewer", None)
            except FactibleError as error:
                print(sentence(error))
            else:
                asked.append(change)
    except (EOFError, KeyboardInterrupt):
        print()
        return []


def _change(kind: ReviewKind) -> Change:
    from factible_assets.runs.review import Change

    number = None
    if kind in {"edit_query", "remove_query"}:
        given = input("number of the query: ").strip()
        number = int(given) if given.isdecimal() else 0
    prompt = _MENU[kind][1]
    text = input(prompt).strip() if prompt else None
    value = input("stance or rating, or none: ") if kind == "overrule_source" else None
    if kind == "split_claim":
        text = "\n".join(iter(lambda: input("a part (empty: no more): ").strip(), ""))
    why = "the ruling in prose: " if kind == "sign" else "why (may be empty): "
    reason = None if kind == "note" else input(why).strip() or None
    return Change(kind, text, number=number, value=value, reason=reason)
