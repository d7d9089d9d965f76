"""Every stored record comes back as it went in."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.access.credentials.records import Account, ApiKey, ClientId
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.detection.records import Cursor, YoungPayment
from chalicelib.links.records import Link
from chalicelib.requests.records import Payment, Reference, Request, StrayTransfer
from chalicelib.storage import codec, tables
from chalicelib.storage.tables import key_of
from chalicelib.webhooks.records import Delivery, Endpoint, EndpointUrl, Event

RECORDS = [
    Link, Request, Reference, Payment, Account, ApiKey, ClientId, Endpoint, EndpointUrl, Event, Delivery, Cursor,
    YoungPayment, StrayTransfer,
]  # fmt: skip

st.register_type_strategy(
    datetime,
    st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)).map(
        lambda d: d.replace(tzinfo=UTC, microsecond=d.microsecond // 1000 * 1000)
    ),
)
AMOUNT = st.integers(0, MAX_UINT256).map(BaseUnits)


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_a_record_survives_the_table(cls: type) -> None:
    amounts = {name: AMOUNT for name in ("amount", "paid", "fee_amount") if name in cls.__annotations__}

    @given(st.builds(cls, **amounts))
    def round_trip(record: object) -> None:
        assert codec.decode(cls, codec.encode(record)) == record

    round_trip()


def test_every_record_has_a_place_of_its_own_and_nothing_else_has() -> None:
    with pytest.raises(TypeError):
        key_of("a text")
    assert tables.scope("acct", None) != tables.scope("acct", "cli_x")
