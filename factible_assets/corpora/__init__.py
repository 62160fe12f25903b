"""Corpora: which videos there are, and what is known of them. Data lives in `corpora/*.yaml`."""

from factible_assets.corpora.format import (
    AnswerEntry,
    ClaimEntry,
    CorpusError,
    CorpusFile,
    PassageEntry,
    QuestionEntry,
    VideoEntry,
    corpus_json_schema,
)
from factible_assets.corpora.published import CorpusImport, import_published
from factible_assets.corpora.reading import (
    CorporaReading,
    Corpus,
    CorpusVideo,
    GroundTruth,
    load_corpora,
    load_corpus,
    load_ground_truth,
)
from factible_assets.corpora.writing import add_video, write_corpus
from resources.lines import FileProblem

__all__ = [
    "AnswerEntry",
    "ClaimEntry",
    "CorporaReading",
    "Corpus",
    "CorpusError",
    "CorpusFile",
    "CorpusImport",
    "CorpusVideo",
    "FileProblem",
    "GroundTruth",
    "PassageEntry",
    "QuestionEntry",
    "VideoEntry",
    "add_video",
    "corpus_json_schema",
    "import_published",
    "load_corpora",
    "load_corpus",
    "load_ground_truth",
    "write_corpus",
]
