"""Forgetting a video of the live web removes it from every file, caches included."""

from pathlib import Path

from tests.end_to_end.loopback import CLAIMS, PAGES, VIDEO_URL, loopback_world
from tests.resources.transcripts.fake_youtube import VIDEO


def test_no_file_names_a_forgotten_video(tmp_path: Path) -> None:
    with loopback_world(tmp_path) as world:
        world.settings = {
            "SERPER_API_KEY": "a-key",
            "OPENAI_API_KEY": "another-key",
            "GOOGLE_FACT_CHECK_API_KEY": "a-third-key",
            "FACTIBLE_KEEP_PROMPTS": "7",
        }

        def holding(words: str) -> list[str]:
            files = (each for each in world.home.rglob("*") if each.is_file())
            return [str(each) for each in files if words.encode() in each.read_bytes()]

        words = {VIDEO, *CLAIMS, *PAGES, "Controlled trials found no evidence", "checkers-test.org"}
        code, _, err = world.factible("check", VIDEO_URL)
        assert code == 0, err
        assert [each for each in sorted(words) if not holding(each)] == []
        code, told, err = world.factible("forget", VIDEO_URL)
        assert code == 0, err
        for place in ("kept answers (models)", "kept answers (pages)", "kept answers (search)"):
            assert place in told
        for place in ("stored pages", "kept prompts", "runs at Dagster", "rows of llm_calls"):
            assert place in told
        code, _, err = world.factible("forget", VIDEO_URL, "--yes")
        assert code == 0, err
        assert {each: holding(each) for each in sorted(words) if holding(each)} == {}
        code, _, err = world.factible("status")
        assert code == 0, err
