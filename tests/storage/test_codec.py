"""Every stored record comes back as it went in."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.aws import codec, tables
from chalicelib.aws.tables import Reference, YoungPayment, key_of
from chalicelib.core.chainlog import Cursor
from chalicelib.core.credentials import Account, ApiKey, ClientId
from chalicelib.core.events import Event
from chalicelib.core.links import Link, Payment, Request, StrayTransfer
from chalicelib.core.money import MAX_UINT256, BaseUnits
from chalicelib.core.webhooks import Delivery, Endpoint, EndpointUrl

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
