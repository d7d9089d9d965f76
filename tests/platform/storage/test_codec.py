"""Every stored record comes back as it went in."""

import json
import os
from base64 import b64decode
from datetime import UTC, datetime
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.base.records import Record
from chalicelib.payments.rates.records import Rate
from chalicelib.platform.storage import codec
from chalicelib.webhooks.records import Event
from infra.documents.data import record_classes

st.register_type_strategy(
    datetime,
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)).map(
        lambda d: d.replace(tzinfo=UTC, microsecond=d.microsecond // 1000 * 1000)
    ),
)
EXAMPLES = 1_000 if os.environ.get("CHAOS") else 10
"""Of each record; `make chaos` takes 1,000."""
AMOUNT = st.integers(0, MAX_UINT256).map(BaseUnits)
ABOVE_0 = st.integers(1, MAX_UINT256).map(BaseUnits)
st.register_type_strategy(Rate, st.builds(Rate, numerator=ABOVE_0, denominator=ABOVE_0))


@pytest.mark.parametrize("cls", record_classes(), ids=lambda cls: cls.__name__)
def test_a_record_survives_the_table(cls: type[Record]) -> None:
    amounts = {name: AMOUNT for name, hint in get_type_hints(cls).items() if hint is BaseUnits}

    @settings(max_examples=EXAMPLES)
    @given(st.builds(cls, **amounts))
    def round_trip(record: object) -> None:
        assert codec.decode(cls, codec.encode(record)) == record

    round_trip()


WITH_PRESET = b64decode(
    "eLtGd7kxw0gm8SmpJcCiRK+0ICURUgJBJVzA4sVgw81TTc1BWBdMmIAISxgXhpUwisBSICO+BJgmDI2MTUzNzC0slZAyJlKJiJFyDIx1DU1D"
    "DEDpBykJoRYdpTBrsDjOAovjMC2uRQ0aAPovVic="
)
"""The body of an event as it was first compressed with the preset dictionary of bodies: with another one it is not read."""


def test_a_body_that_was_compressed_with_the_preset_dictionary_is_read() -> None:
    names = {"event_id": "E", "kind": "payment_detail.updated", "account_id": "A"}
    item = {name: {"S": value} for name, value in names.items()} | {"created_at": {"N": "0"}, "announced": {"BOOL": True}}
    event = codec.decode(Event, {**item, "body": {"B": WITH_PRESET}})
    assert json.loads(event.body)["paymentDetailsId"] == "7e577e57-7e57-4e57-9e57-7e577e577e57"
