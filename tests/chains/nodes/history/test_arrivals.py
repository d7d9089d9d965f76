"""What arrived of payments, by the Transfer logs of their transactions."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.history.arrivals import find_arrivals, transfers_to
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, TRANSFER_TOPIC
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress

TOKEN, OTHER_TOKEN, PAYEE, FEE_TO, PAYER, OWN = ("0x" + byte * 20 for byte in ("1c", "2c", "f1", "c5", "a1", "aa"))
TOPIC = "0x" + "77" * 32
PROXY = address_of(ERC20_FEE_PROXY, "sepolia").lower()
Log = dict[str, Any]


def word(value: str | int) -> str:
    return f"{value:064x}" if isinstance(value, int) else value[2:].rjust(64, "0")


def log(address: str, topics: list[str], data: str, transaction: int = 1) -> Log:
    return {
        "address": address, "topics": topics, "data": "0x" + data, "blockNumber": "0x5",
        "blockHash": "0x" + "05" * 32, "transactionHash": f"0x{transaction:064x}",
    }  # fmt: skip


def moved(amount: int, to: str = PAYEE, token: str = TOKEN, sender: str = PAYER, transaction: int = 1) -> Log:
    return log(token, [TRANSFER_TOPIC, "0x" + word(sender), "0x" + word(to)], word(amount), transaction)


def paid(amount: int, fee: int = 0, to: str = PAYEE, fee_to: str = FEE_TO, transaction: int = 1) -> Log:
    data = word(TOKEN) + word(to) + word(amount) + word(fee) + word(fee_to)
    return log(PROXY, [ERC20_TRANSFER_TOPIC, TOPIC], data, transaction)


def numbered(logs: tuple[Log, ...]) -> list[Log]:
    return [{**each, "logIndex": hex(index)} for index, each in enumerate(logs)]


def shares(*logs: Log) -> list[tuple[int, int]]:
    """(amount, fee) of each event in the order of the logs."""
    return [(each.amount, each.fee_amount) for each in find_arrivals("sepolia", numbered(logs)).values()]


def test_of_a_plain_token_all_that_the_event_says_arrived() -> None:
    assert shares(moved(100), moved(5, FEE_TO), paid(100, 5)) == [(100, 5)]


def test_of_a_token_that_keeps_a_part_the_rest_arrived() -> None:
    assert shares(moved(99), moved(4, FEE_TO), paid(100, 5)) == [(99, 4)]
    assert shares(moved(99_999_999), paid(100_000_000)) == [(99_999_999, 0)]


def test_of_a_token_that_moves_nothing_nothing_arrived() -> None:
    assert shares(paid(100, 5)) == [(0, 0)]
    assert shares(moved(0), paid(100)) == [(0, 0)]


def test_what_the_transfer_says_counts_for_a_token_that_changes_balances_otherwise() -> None:
    assert shares(moved(101), paid(100)) == [(100, 0)], "never more than the event says"


def test_transfers_of_other_tokens_receivers_and_transactions_count_for_nothing() -> None:
    assert shares(moved(9, token=OTHER_TOKEN), moved(9, OWN), moved(9, transaction=2), paid(100)) == [(0, 0)]


def test_other_transfers_to_the_payee_do_not_raise_what_counts_above_the_event() -> None:
    assert shares(moved(50), moved(100), paid(100), moved(70)) == [(100, 0)]


def test_what_is_moved_after_an_event_is_not_of_it() -> None:
    assert shares(paid(100), moved(100)) == [(0, 0)]


def test_two_events_with_one_payee_share_the_transfers_in_their_order() -> None:
    assert shares(moved(100), paid(100), moved(50), paid(50)) == [(100, 0), (50, 0)]
    assert shares(moved(99), paid(100), moved(49), paid(50)) == [(99, 0), (49, 0)]
    assert shares(moved(100), paid(100), paid(100)) == [(100, 0), (0, 0)]


def test_a_fee_to_the_payee_takes_what_is_above_the_amount() -> None:
    assert shares(moved(100), moved(5), paid(100, 5, fee_to=PAYEE)) == [(100, 5)]
    assert shares(moved(99), moved(4), paid(100, 5, fee_to=PAYEE)) == [(100, 3)]
    assert shares(moved(100), paid(100, 5, fee_to=PAYEE)) == [(100, 0)]


def test_a_log_that_is_listed_twice_arrives_once() -> None:
    logs = numbered((moved(60), paid(100)))
    assert [each.amount for each in find_arrivals("sepolia", [*logs, logs[0]]).values()] == [60]


def test_transactions_whose_logs_are_numbered_from_zero_do_not_share() -> None:
    first, second = numbered((moved(60), paid(100))), numbered((paid(100, transaction=2),))
    found = find_arrivals("sepolia", [*first, *second])
    assert {tx_hash[-1]: each.amount for (*_, tx_hash, _), each in found.items()} == {"1": 60, "2": 0}


def test_an_emptied_address_and_an_event_do_not_count_one_transfer_twice() -> None:
    """The token keeps 1 %: the Transfer of the event is not equal to what it says, and is taken for one without it."""
    own = PlainAddress(OWN, TOKEN, PAYEE, TOPIC)
    found = find_arrivals("sepolia", numbered((moved(99, sender=OWN), paid(100))), None, [own])
    assert sum(each.amount for each in found.values()) == 99


def test_only_transfers_of_the_tokens_to_the_receivers_are_asked_for() -> None:
    (wanted,) = transfers_to([TOKEN], [PAYEE, FEE_TO, PAYEE])
    (criteria,) = wanted.query({"fromBlock": "0x5", "toBlock": "0x5"})[1]
    assert criteria["address"] == [TOKEN]
    assert criteria["topics"] == [[TRANSFER_TOPIC], None, sorted("0x" + word(each) for each in (PAYEE, FEE_TO))]


def test_the_transfers_to_many_receivers_are_asked_for_in_parts_as_nodes_refuse_more_than_1000() -> None:
    receivers = [f"0x{number:040x}" for number in range(1, 1201)]
    parts = transfers_to([TOKEN], receivers)
    assert [len(each.topics[2]) for each in parts] == [500, 500, 200]
    assert {each for part in parts for each in part.topics[2]} == {"0x" + word(each) for each in receivers}
    assert transfers_to([], []) == ()


ADDRESSES = st.sampled_from((PAYEE, FEE_TO, OWN))
AMOUNTS = st.integers(0, 5)
EVENTS = st.builds(paid, AMOUNTS, AMOUNTS, ADDRESSES, ADDRESSES, st.integers(1, 2))
TRANSFERS = st.builds(moved, AMOUNTS, ADDRESSES, st.sampled_from((TOKEN, OTHER_TOKEN)), st.just(PAYER), st.integers(1, 2))


@given(st.lists(st.one_of(EVENTS, TRANSFERS), max_size=12))
def test_no_receipt_counts_more_for_a_payee_than_it_moves(logs: list[Log]) -> None:
    given_logs = numbered(tuple(logs))
    found = find_arrivals("sepolia", given_logs)
    sums, moves = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    events = [each for each in given_logs if each["address"] == PROXY]
    for event, ((*_, tx_hash, _), share) in zip(events, found.items(), strict=True):
        words = [event["data"][start : start + 64] for start in range(2, 2 + 5 * 64, 64)]
        assert share.amount <= int(words[2], 16) and share.fee_amount <= int(words[3], 16)
        sums[tx_hash, words[1]] += share.amount
        sums[tx_hash, words[4]] += share.fee_amount
    for each in given_logs:
        if each["address"] == TOKEN:
            moves[each["transactionHash"], each["topics"][2][2:]] += int(each["data"], 16)
    assert all(total <= moves[place] for place, total in sums.items())


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, ADDRESSES, ADDRESSES, st.lists(TRANSFERS, max_size=2)), max_size=6))
def test_of_plain_tokens_exactly_what_the_events_say_counts(payments: list[Any]) -> None:
    """Each event comes after its Transfers, with any others between."""
    logs = list[Log]()
    for amount, fee, to, fee_to, others in payments:
        logs += [moved(amount, to), moved(fee, fee_to), *others, paid(amount, fee, to, fee_to)]
    assert shares(*logs) == [(amount, fee) for amount, fee, *_ in payments]
