"""Generated operations of the store, and what is read after them: the same on every DynamoDB, and on the store in memory."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError
from hypothesis import strategies as st

from chalicelib.base.lists import Named, Span, list_of
from chalicelib.base.records import Record
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.scanning.records import TransferId, UnrecordedTransfers
from chalicelib.platform.access.rate_limits.records import CallCounter
from chalicelib.platform.storage.store import Absent, Add, Delete, Store, Unchanged, WriteConflict
from tests.fakes.world import PREFIX, START
from tests.platform.storage.kept_records import PAYMENT
from tests.platform.storage.test_lists import DAY

LATER = START + timedelta(days=1)
examples = itertools.count()


def answer(act: Callable[[], Any]) -> Any:
    """What a call returns, or why it is refused."""
    try:
        found = act()
    except WriteConflict:
        return "conflict"
    except ClientError as error:
        reasons = [(each.get("Code"), each.get("Item")) for each in error.response.get("CancellationReasons", ())]
        return error.response["Error"]["Code"], reasons, without_id(error.response.get("Item", {}))
    return without_id(found) if isinstance(found, dict) else found


def without_id(found: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in found.items() if name not in ("ResponseMetadata", "write_id")}


class Records:
    """Records of one example, which are nobody else's in the tables of the local cloud."""

    def __init__(self) -> None:
        self.name = f"C{next(examples)}"
        self.day = replace(DAY, account_id=self.name)
        self.counter = CallCounter(self.name, START + timedelta(seconds=1))

    def work(self, number: int) -> UnrecordedTransfers:
        ids = (TransferId(number, "0xaa", "0xbb", "e-0"),)
        at = START + timedelta(seconds=number)
        return UnrecordedTransfers(f"{self.name}-{number % 2}", "base", number, number, 0, "d", at, ids)

    def payment(self, number: int, version: int = 0) -> Payment:
        at, status = START + timedelta(seconds=number), PaymentStatus.REVERSED if version == 2 else PAYMENT.status
        mine = {"account_id": self.name, "request_id": self.name, "tx_hash": f"0x{number:x}"}
        return replace(PAYMENT, **mine, paid_at=at, payee="0xAb" if number % 2 else "0xcd", status=status, version=version)

    def apply(self, store: Store, act: str, number: int, other: int, version: int) -> Any:
        first, second = self.work(number), self.work(other)
        record: Any = replace(first, version=version)
        acts: dict[str, Callable[[], Any]] = {
            "write": lambda: store.write(record),
            "put": lambda: store.put_many([first, second]),
            "delete": lambda: store.write(Delete(record)),
            "absent": lambda: store.write(Absent(first), second),
            "unchanged": lambda: store.write(Unchanged(record), second),
            "both": lambda: store.write(record, second),
            "list": lambda: store.write(self.payment(number, version)),
            "list both": lambda: store.write(self.payment(number, version), self.payment(other)),
            "add": lambda: store.write(Add(self.day, {"a": version, f"{number}#": -other})),
            "add and write": lambda: store.write(record, Add(self.day, {"a": 1})),
            "count": lambda: store.count(self.counter, 3, version + 1),
            "uncount": lambda: store.uncount(self.counter, version + 1),
        }
        return answer(acts[act])

    def reads(self, store: Store) -> list[Any]:
        kind, span = UnrecordedTransfers, Span(Named("by_account", list_of(self.name, "PAYMENT")))
        payees = [Named("by_payee", list_of(self.name, "PAYMENT", each)) for each in ("0xab", "0xcd")]
        keys: dict[Any, type[Record]] = {self.work(number).key: kind for number in range(4)}
        parts = [kind.KEY.all(payable_id=f"{self.name}-{number}") for number in range(2)]
        first = self.work(0).key
        pages = [store.page(Payment, self.payment(0).key.pk, None, limit) for limit in (2, 9)]
        lists = [Span(payees[0]), replace(span, within=((payees[0],),)), replace(span, within=(tuple(payees),))]
        lists += [replace(span, equal=("payee", "payer")), replace(lists[0], equal=("network", "network"))]
        due = [list(store.due(kind, LATER, 50, shard)) for shard in (0, 5)]
        return [
            store.get_many(keys),
            [store.get(each, key) for key, each in keys.items()],
            [store.query(kind, part, limit) for part in parts for limit in (None, 1, 2)],
            [store.query_mixed((kind,), first.pk), store.head(kind, first.pk, None, 1), store.head(kind, first.pk, first.sk, 2)],
            [page.records if hasattr(page, "records") else page[0] for page in pages],  # type: ignore[attr-defined]
            [[key for key in found if self.name in key.pk] for found in due],
            [read(Payment, each, limit, 3) for read in (store.newest, store.oldest) for each in (span, *lists) for limit in (1, 9)],
            [store.count_listed(Payment, each, 2) for each in (span, *lists)],
            store.get(type(self.day), self.day.key),
        ]

    def items(self, client: Any) -> list[dict[str, Any]]:
        """What DynamoDB holds of some of them."""
        keys = [each.key for each in (self.counter, self.day, self.work(1), self.payment(1))]
        places = [(f"{PREFIX}-{key.table}", {"pk": {"S": key.pk}, "sk": {"S": key.sk}}) for key in keys]
        found = [client.get_item(TableName=table, Key=key, ConsistentRead=True) for table, key in places]
        return [without_id(each.get("Item", {})) for each in found]


ACTS = ("write", "put", "delete", "absent", "unchanged", "both", "list", "list both", "add", "add and write", "count", "uncount")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=16
)


def hold_to(store: Store, other: Store, steps: Any) -> Records:
    """Fails if the operations have other answers on one store than on the other, or anything is read otherwise after them."""
    records = Records()
    for step in steps:
        mine, theirs = (records.apply(each, *step) for each in (store, other))
        assert mine == theirs, step
    mine, theirs = (records.reads(each) for each in (store, other))
    assert mine == theirs
    return records
