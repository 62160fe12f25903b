"""`factible trust`: the user's word for endpoints and programs that files of this folder name.

What belongs here: which files ask for it, and showing what they say. What does not: remembering it,
and which settings need it (settings.py).
"""

from __future__ import annotations

from factible_assets.cli.output import AsJson, note, print_json
from factible_assets.wording import plain


def trust(as_json: AsJson = False) -> None:
    """Allow what files in the working folder say of endpoints, programs and who is let in.

    Asked for once per content: a changed endpoint asks again. Keys need no word, and keys of the
    environment are never sent to an endpoint that only such a file names.

    Example: factible trust
    """
    from factible_assets.settings import allow, default_home, folder_files, read_words

    allowed = []
    for file in folder_files():
        if file.speaking:
            allow(file.path, file.content)
            allowed.append((file.path, ", ".join(file.variables)))
    home = default_home()
    for path in (home / "models.yaml", home / "dagster" / "dagster.yaml"):
        if path.is_file():
            allow(path, read_words(path))
            allowed.append((path, "the whole file"))
    if as_json:
        print_json([{"file": str(path), "allowed": what} for path, what in allowed])
        return
    for path, what in allowed:
        print(f"{plain(str(path))}: {what}")
    if not allowed:
        note("Nothing in this folder needs to be allowed.")
