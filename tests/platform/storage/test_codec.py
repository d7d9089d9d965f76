"""Every stored record comes back as it went in."""

import os
from datetime import UTC, datetime
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.base.records import Record
from chalicelib.payments.rates.records import Rate
from chalicelib.platform.storage import codec
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
