"""`factible review`: show how a claim was checked, correct it, check it again, sign a ruling."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from typer import Argument, Exit, Option

from factible_assets.cli.arguments import video_ids
from factible_assets.cli.output import (
    Columns,
    note,
    output_mode,
    print_error,
    result,
    sentence,
    show_rows,
    stdout,
    table_of,
)
from factible_assets.cli.progress import watching
from factible_assets.errors import FactibleError, UsageError
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import ReviewAction, ReviewKind
from factible_assets.runs.changes import Change, actions_of, new_claim
from factible_assets.runs.claims import ClaimFile, find_claim, open_claim, open_video, read_history
from factible_assets.runs.review import Reviewed, carry_out, reviewer_name
from factible_assets.settings import load_settings
from factible_assets.stages.reviews import CLAIM_KINDS, QUERY_KINDS
from factible_assets.wording import act_words, counted, plain, sureness, verdict_words

Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

_ENDS_WORDING = {"reword_claim", "split_claim", "drop_claim"}
"""The acts after which no run checks the claim in its present words."""
_MENU: Mapping[ReviewKind, tuple[str, str | None]] = {
    "add_query": ("ask another query", "query: "),
    "edit_query": ("reword a query", "new words: "),
    "remove_query": ("remove a query", None),
    "block_source": ("block a source", "URL or domain: "),
    "unblock_source": ("withdraw a decision on a source", "URL or domain: "),
    "add_source": ("add a source", "URL: "),
    "assess": ("record your own verdict", f"{', '.join(STANCES)} or none: "),
    "note": ("write a note", "note: "),
    "overrule_source": ("overrule a source's stance or rating", "URL: "),
    "reword_claim": ("reword the claim", "the claim in better words: "),
    "split_claim": ("split the claim", None),
    "drop_claim": ("drop the claim", None),
    "restore_claim": ("restore a dropped or split claim", None),
    "assign": ("assign the claim to a person", "name, or none: "),
    "sign": ("sign a ruling", "ruling, or none: "),
}
"""The menu's entries, each with the prompt for its text."""


def _option(metavar: str, words: str) -> Any:
    return Option(metavar=metavar, help=words)


def review(
    video: Annotated[
        str, Argument(help="A checked video (id or YouTube URL).", autocompletion=video_ids)
    ],
    claim: Annotated[Text, Argument(help="A claim's number, or how its id begins.")] = None,
    *,
    add_query: Annotated[Texts, _option("TEXT", "Add this query.")] = None,
    edit_query: Annotated[tuple[int, str] | None, _option("N TEXT", "Reword query N.")] = None,
    remove_query: Annotated[list[int] | None, _option("N", "Remove query N.")] = None,
    query_type: Annotated[
        Literal["direct", "alternative", "source", "context"] | None,
        Option("--type", help="The type of an added query."),
    ] = None,
    opposite: Annotated[bool, Option("--opposite", help="The query seeks the opposite.")] = False,
    block: Annotated[Texts, _option("URL|DOMAIN", "Never use this source for the claim.")] = None,
    unblock: Annotated[Texts, _option("URL|DOMAIN", "Undo --block or --add-source.")] = None,
    add_source: Annotated[Texts, _option("URL", "Always read this page.")] = None,
    overrule: Annotated[
        tuple[str, str] | None,
        _option("URL STANCE|RATING", "Set the source's stance or rating; none withdraws it."),
    ] = None,
    reword: Annotated[Text, _option("TEXT", "Reword the claim.")] = None,
    split: Annotated[Texts, _option("TEXT", "A part of the claim; repeatable.")] = None,
    drop: Annotated[bool, Option("--drop", help="Drop the claim; needs --reason.")] = False,
    restore: Annotated[bool, Option("--restore", help="Undo --drop or --split.")] = False,
    add_claim: Annotated[Text, _option("TEXT", "Add this claim to the video.")] = None,
    said: Annotated[Text, _option("TEXT", "The added claim's transcript passage.")] = None,
    assign: Annotated[Text, _option("NAME", "Assign the claim; none: nobody.")] = None,
    sign: Annotated[Text, _option("LABEL", "Sign a ruling; none withdraws it.")] = None,
    ruling: Annotated[Text, _option("TEXT", "The ruling in prose.")] = None,
    assess: Annotated[
        Text, _option("STANCE", f"Your own verdict: {', '.join(STANCES)}; none withdraws it.")
    ] = None,
    remark: Annotated[Text, Option("--note", metavar="TEXT", help="A note on the claim.")] = None,
    reason: Annotated[Text, _option("TEXT", "The reason; stored with the changes.")] = None,
    reviewer: Annotated[
        Text, _option("NAME", "Your name (default: FACTIBLE_REVIEWER, else your login name).")
    ] = None,
    rerun: Annotated[
        bool | None, Option(help="Check the claim again (default: unless only opinions changed).")
    ] = None,
    history: Annotated[bool, Option("--history", help="Show all changes.")] = False,
) -> None:
    """Correct a claim and its check, check only this claim again, and sign a ruling.

    Without a claim, the command lists the video's claims. With one, it shows the verdict, queries
    and sources, and on a terminal a menu of changes. Later checks of the claim apply the
    corrections too. factible stores the reviewer. A ruling appears beside the verdict.

    Example: factible review everyday-beliefs-talk

    Example: factible review everyday-beliefs-talk 1 --block example.org --reason "sells pills"

    Example: factible review everyday-beliefs-talk 1 --sign refuted --ruling "It boils at 71 °C."
    """
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
    changes = [
        *(
            Change("add_query", query, query_type=query_type, opposite=opposite)
            for query in add_query or ()
        ),
        *([Change("edit_query", edit_query[1], number=edit_query[0])] if edit_query else ()),
        *(Change("remove_query", number=number) for number in remove_query or ()),
        *([Change("overrule_source", overrule[0], value=overrule[1])] if overrule else ()),
        *([] if add_claim is None else [Change("add_claim", add_claim, said=said)]),
        *([] if sign is None else [Change("sign", sign, reason=ruling)]),
        *(Change(kind, text) for kind, of_kind in texts.items() for text in of_kind),
    ]
    for option, value, partner, partner_value in (
        ("--ruling", ruling, "--sign", sign),
        ("--said", said, "--add-claim", add_claim),
        ("--type", query_type, "--add-query", add_query),
        ("--opposite", opposite or None, "--add-query", add_query),
        ("--reason", reason, "a change", changes or None),
    ):
        is_alone = value is not None and partner_value is None
        _refuse(is_alone, f"{option} goes with {partner}.", "Give both, or leave it out.")
    settings = load_settings()
    if history:
        _refuse(changes, "--history changes nothing.")
        _show_history(read_history(video, claim, settings))
        return
    if claim is None and add_claim is None:
        _refuse(changes or rerun, "Name a claim.", f"factible review -- {plain(video)} lists them.")
        _show_claims(open_video(video, settings))
        return
    if add_claim is not None:
        _refuse(claim, "An added claim has no number yet.", "Leave the number out.")
        file = new_claim(open_video(video, settings), add_claim)
    else:
        file = open_claim(video, claim or "", settings)
        if not changes and not rerun:
            _show(file)
            if output_mode.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
                return
            changes = _menu(file)
            if not changes:
                note("Nothing was changed.")
                return
    _apply(file, changes, reviewer_name(reviewer, settings), reason, rerun)


def _refuse(is_wrong: Any, words: str, remedy: str = "Leave the other options out.") -> None:
    if is_wrong:
        raise UsageError(words, remedy)


def _apply(
    file: ClaimFile, changes: list[Change], name: str, reason: str | None, rerun: bool | None
) -> None:
    done = carry_out(file, changes, name, reason=reason, rerun=rerun, watch=watching, say=note)
    for failure in done.checked.failures:
        print_error(failure)
    files = open_video(file.video_id, file.settings)
    after = [find_claim(files, claim) for claim in done.claims]
    document = {
        **_document(after[0]),
        "claims": [_brief(claim_file) for claim_file in after],
        "verdict_before": file.verdict,
        "recorded": done.actions,
        "remarks": done.remarks,
        "run_id": done.run_id,
        "report": str(done.checked.report),
        "exit_code": int(done.code),
    }
    result(document, *([] if output_mode.json else _outcome(file, after, done)))
    raise Exit(done.code)


# --- Showing ------------------------------------------------------------------------------------


def _brief(file: ClaimFile) -> dict[str, Any]:
    return {
        "number": file.number,
        "claim_id": file.claim.claim_id,
        "claim": file.claim.text,
        "verdict": file.verdict,
        "reviewers": _reviewers(file),
        "assigned_to": file.assigned_to,
        "ruling": file.ruling,
        "gone": file.gone.action if file.gone else None,
    }


def _reviewers(file: ClaimFile) -> list[str]:
    return list(dict.fromkeys(action.reviewer for action in file.actions))


def _document(file: ClaimFile) -> dict[str, Any]:
    return {
        **_brief(file),
        "queries": file.queries,
        "sources": file.sources,
        "actions": file.actions,
        "standing": [_act_sentence(act, file) for act in file.in_force],
    }


def _verdict_words(file: ClaimFile) -> str:
    if file.gone is not None:
        return "dropped" if file.gone.action == "drop_claim" else "split"
    if file.verdict is None:
        return "not judged"
    confidence = f", {sure} confidence" if (sure := sureness(file.verdict)) else ""
    return f"{verdict_words(file.verdict)}{confidence}"


def _show_claims(files: list[ClaimFile]) -> None:
    columns: Columns = (
        ": number",
        ("claim", lambda file: file.claim.text),
        ("verdict", _verdict_words),
        ("reviewed by", lambda file: ", ".join(_reviewers(file)) or None),
    )
    shown = table_of(files, columns, title=files[0].rows.video.title)
    result([_brief(file) for file in files], shown)
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
        console.print(f"   {_act_sentence(act, file)}", style="cyan")
    console.print("\nqueries", style="bold")
    for number, query in enumerate(file.queries, start=1):
        kind = f"{query.query_type}{', seeks the contrary' if query.seeks_opposite else ''}"
        by = ", worded by a reviewer" if query.basis == "reviewer" else ""
        words = plain(query.text) or f"(not written: {plain(query.reason or '')})"
        console.print(f"   {number}. {words}  [{kind}{by}]")
    columns: Columns = (
        ("says", lambda row: row.stance or row.status.replace("_", " ")),
        ("rating", lambda row: row.rating.replace("_", " ")),
        "source: canonical_url",
        ("why", lambda row: plain(row.quote or row.reason or row.summary or "", 160)),
    )
    console.print(table_of(file.sources, columns, title="sources"))


def _outcome(before: ClaimFile, after: list[ClaimFile], done: Reviewed) -> list[str]:
    """Return the lines of the result, and print the remarks."""
    lines = [f"claim: {plain(before.claim.text)}"]
    lines += [_act_sentence(action, before) for action in done.actions]
    for remark in done.remarks:
        note(remark)
    if done.run_id is not None and not done.checked.failures:
        for claim_file in after:
            if claim_file.claim.claim_id != before.claim.claim_id:
                lines.append(f"claim: {plain(claim_file.claim.text)}")
            old, new = _verdict_words(before), _verdict_words(claim_file)
            lines.append(f"verdict: {old} → {new}" if old != new else f"verdict: {new}, as before")
            lines += [
                f"left out: {plain(row.canonical_url)}: {plain(row.reason or '')}"
                for row in claim_file.sources
                if (row.reason or "").startswith("Blocked by")
            ]
        note(f"{counted(done.others, 'other claim')} unchanged (run {done.run_id[:8]}).")
    elif done.waits:
        arguments = f"{plain(before.video_id)} {before.claim.claim_id[:8]}"
        is_changed = any(action.action in CLAIM_KINDS for action in done.actions)
        remedy = f"Check the claim with: factible review --rerun -- {arguments}"
        note(f"Recorded. {remedy if is_changed else 'The next check of the claim applies it.'}")
    return [*lines, f"report: {done.checked.report}"]


def _act_sentence(act: ReviewAction, file: ClaimFile) -> str:
    organisation = f", {act.organisation}" if act.organisation else ""
    return f"{plain(act.reviewer + organisation)} {_act_words(act.model_dump(), file)}"


def _act_words(action: dict[str, Any], file: ClaimFile | None = None) -> str:
    """Return an action in words, without its reviewer."""
    kind, target = action["action"], action["target"]
    texts = {query.query_id: query.text for query in file.queries} if file else {}
    query = texts.get(target) or (action.get("target_words") if kind in QUERY_KINDS else None)
    because = f" ({action['reason']})" if action["reason"] else ""
    return plain(f"{act_words(kind, target, action['value'], query)}{because}")


def _show_history(acts: list[dict[str, Any]]) -> None:
    columns: Columns = (
        *("when (UTC): acted_at", "who: reviewer"),
        ("what", _act_words),
        ("claim", lambda act: plain(act["claim"] or act["claim_id"], 60)),
        ("applied by run", lambda act: act["run_id"] and act["run_id"][:8]),
        ("verdict", _stance_change),
    )
    show_rows(acts, columns, title="Changes", nothing="There is no review here.")


def _stance_change(act: Mapping[str, Any]) -> str | None:
    """Return the stances before and after an act, if a run has checked the same words since."""
    if not act["run_id"] or act["action"] in _ENDS_WORDING:
        return None
    stances = (act[when] or "incomplete" for when in ("stance_before", "stance_after"))
    return " → ".join(dict.fromkeys(stances))


# --- The menu -----------------------------------------------------------------------------------


def _menu(file: ClaimFile) -> list[Change]:
    """Ask for changes until the user is done; Ctrl-C and Ctrl-D drop them all."""
    changes: list[Change] = []
    try:
        while True:
            print("\nWhich change?")
            for number, (words, _) in enumerate(_MENU.values(), start=1):
                print(f"  {number}  {words}")
            print(f"  0  {'done: record and check the claim again' if changes else 'leave'}")
            answer = input("> ").strip()
            if answer in {"", "0", "q"}:
                return changes
            if not answer.isdecimal() or not 1 <= int(answer) <= len(_MENU):
                print(f"Give a number from 0 to {len(_MENU)}.")
                continue
            change = _change([*_MENU][int(answer) - 1])
            try:
                actions_of(file, [*changes, change], "reviewer", None)
            except FactibleError as error:
                print(sentence(error))
            else:
                changes.append(change)
    except (EOFError, KeyboardInterrupt):
        print()
        return []


def _change(kind: ReviewKind) -> Change:
    number = None
    if kind in {"edit_query", "remove_query"}:
        answer = input("number of the query: ").strip()
        number = int(answer) if answer.isdecimal() else 0
    prompt = _MENU[kind][1]
    text = input(prompt).strip() if prompt else None
    value = input("stance or rating, or none: ") if kind == "overrule_source" else None
    if kind == "split_claim":
        text = "\n".join(iter(lambda: input("a part (empty: no more): ").strip(), ""))
    prompt_for_reason = "the ruling in prose: " if kind == "sign" else "why (may be empty): "
    reason = None if kind == "note" else input(prompt_for_reason).strip() or None
    return Change(kind, text, number=number, value=value, reason=reason)
