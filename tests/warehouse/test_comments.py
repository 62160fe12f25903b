"""What tables and columns mean, read from their migrations."""

from __future__ import annotations

from factible_assets.records import ALL_RECORDS
from warehouse.comments import comments_of, packaged_comments


def test_every_table_and_column_that_a_record_fills_is_explained() -> None:
    comments = packaged_comments()
    for record in ALL_RECORDS:
        assert comments.table(record.table), record.table
        for column in record.model_fields:
            assert comments.column(record.table, column), f"{record.table}.{column}"


def test_a_later_migration_has_the_last_word() -> None:
    first = "COMMENT ON COLUMN a.b IS 'Old.';\nCOMMENT ON TABLE a IS 'A video''s rows.';\n"
    comments = comments_of(first, "COMMENT ON COLUMN a.b IS 'New; and more.';\n")
    assert comments.column("a", "b") == "New; and more."
    assert comments.table("a") == "A video's rows."
    assert comments.column("a", "c") is None
