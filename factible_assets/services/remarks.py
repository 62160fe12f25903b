"""What is said when nobody named a service and none is set up: which default takes its place.

What belongs here: the sentences, for a run's log and for the command line. What does not:
the choices themselves (search.py, web.py, reasoning.py).
"""

from __future__ import annotations

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.services.reasoning import choose_reasoner
from factible_assets.services.search import search_names
from factible_assets.settings import Settings, SetupError

_NO_SEARCH = (
    "No search provider is set up, so evidence is looked for in the archive of stored pages. Set "
    "SERPER_API_KEY, FACTIBLE_SEARXNG_URL or FACTIBLE_SEARCH to search the live web."
)


def search_remark(settings: Settings, *wishes: str | None) -> str | None:
    """Say which web is not searched: the live one for want of a provider, or the machine's choice.

    Args:
        settings: What is set up.
        wishes: The run's and the corpus's; the machine's is known.
    """
    wished = [wish for wish in (*wishes, settings.web) if wish not in {None, "", "auto"}]
    if not wished:
        return None if search_names(settings) else _NO_SEARCH
    run = wishes[0] if wishes else None
    if run in {None, "", "auto"} and settings.web in wished and wished[0] != settings.web:
        return (
            f"FACTIBLE_WEB={settings.web} is not followed here, as the video's corpus names its "
            f"own web, {wished[0]}. To look elsewhere for once: --web {settings.web}, or "
            "search.web in the launchpad."
        )
    return None


def reasoner_remark(settings: Settings, wish: str) -> str | None:
    """Say that the embedded engine judges for want of a model; None if the choice fails."""
    try:
        return choose_reasoner(wish, settings).remark
    except SetupError:  # the run says so, with its remedy
        return None


def default_remarks(video_id: str, *, settings: Settings, config: FactCheckConfig) -> str:
    """Say in one line which defaults take the place of services that nobody set up or refused."""
    listed = load_corpora(settings.corpus_folders).find(video_id)
    remarks = (
        reasoner_remark(settings, config.reasoner),
        search_remark(settings, config.search.web, listed.web if listed else None),
    )
    return " ".join(remark for remark in remarks if remark is not None)
