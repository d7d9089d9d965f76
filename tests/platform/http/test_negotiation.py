"""Which media type a client prefers, by its header Accept."""

import pytest

from chalicelib.platform.http.negotiation import choose_media_type

JSON, CSV = "application/json", "text/csv"


@pytest.mark.parametrize(
    "accept",
    [
        "text/csv", "TEXT/CSV", "text/*", "text/csv;q=1", "text/csv; charset=utf-8", 'text/csv; header="present"; q=0.2',
        "text/csv, application/json;q=0.9", "application/json;q=0.001, text/csv;q=0.002", "text/csv, */*",
        "*/*, text/csv", "*/*;q=0.5, text/csv;q=0.5", "text/csv, application/json", "application/json;q=0, */*",
        "application/json;q=0, text/csv;q=0.001", "text/html, text/csv;q=0.1", ", text/csv ,,", "text/csv ; q=0.5;",
    ],
)  # fmt: skip
def test_a_table_is_preferred(accept: str) -> None:
    assert choose_media_type(accept, (JSON, CSV)) == CSV


@pytest.mark.parametrize(
    "accept",
    [
        "", "*/*", "application/json", "application/*", "application/json, text/csv", "text/csv;q=0", "text/csv;q=0.0",
        "text/csv;q=0.000, */*", "text/*, text/csv;q=0", "text/csv;q=0.5, application/json;q=0.6", "text/csv;q=0.5, */*",
        "text/html", "text/html, application/xhtml+xml, */*;q=0.8", "*/*;q=0", "application/json, text/plain, */*",
    ],
)  # fmt: skip
def test_json_is_preferred_and_is_the_answer_where_nothing_is_accepted(accept: str) -> None:
    assert choose_media_type(accept, (JSON, CSV)) == JSON


@pytest.mark.parametrize(
    "accept",
    [
        "text/csv;q=2", "text/csv;q=-1", "text/csv;q=1.001", "text/csv;q=0.1234", "text/csv;q=", "text/csv;q=x",
        "text/csv;q=NaN", "text/csv;q=٠", "text/csv;q", "text/csv/", "text", "text csv", "/", "csv, text/csv",
        "text/csv, application/json;q=high", "text/csv; q = 0.5", "ｔext/csv, text/csv", "\x00, text/csv",
    ],
)  # fmt: skip
def test_json_is_the_answer_to_a_header_without_the_form(accept: str) -> None:
    assert choose_media_type(accept, (JSON, CSV)) == JSON
