"""What nodes have to say together until it proves what became of a transaction."""

from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Receipt, Sight, TokenFlow, UsedNonce
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.proofs import Verdict, of_other, of_receipt, sought, sought_other
from tests.relayer.transactions import transaction

HASH, TX, TOKEN = "0x" + "34" * 32, "0x" + "12" * 32, "0x" + "7a" * 20
RECEIPT = Receipt(TX, 100, HASH, True, BaseUnits(1))
FAILED = replace(RECEIPT, success=False)
MOVE = Move("permit/1", TOKEN, BaseUnits(5), inward=True)
SEEN = Sight(HASH, True, RECEIPT, (5, 5))
BEHIND, SILENT = replace(SEEN, is_deep=False), None
FORGOT = replace(SEEN, receipt=None, moved=(5,))
USED = UsedNonce(5, TX, 100)


def test_each_node_is_asked_for_the_block_that_makes_it_deep_enough_and_for_what_it_moves() -> None:
    moving = transaction(5, moves=MOVE)
    found = sought(moving, RECEIPT, 12)
    assert (found.tx_hash, found.block_number, found.deep_block) == (TX, 100, 111)
    assert found.flow == TokenFlow(TOKEN, moving.sender, True)
    assert sought(transaction(5), RECEIPT, 1).deep_block == 100
    assert sought_other(USED, 12) == replace(found, flow=None)


@pytest.mark.parametrize(
    ("sights", "verdict"),
    [
        ([SEEN], Verdict.PROVEN),
        ([SEEN, SEEN], Verdict.PROVEN),
        ([SEEN, SILENT], Verdict.OPEN),
        ([SEEN, BEHIND], Verdict.OPEN),
        ([FORGOT, SEEN], Verdict.OPEN),
        ([SEEN, replace(SEEN, block_hash=None)], Verdict.OPEN),
        ([SEEN, replace(SEEN, receipt=FAILED)], Verdict.CONTRADICTED),
        ([SEEN, replace(SEEN, receipt=replace(RECEIPT, block_number=101))], Verdict.CONTRADICTED),
        ([SEEN, replace(SEEN, receipt=replace(RECEIPT, block_hash=TX))], Verdict.CONTRADICTED),
        ([SEEN, replace(SEEN, block_hash=TX)], Verdict.CONTRADICTED),
        ([replace(SEEN, moved=(5, 0))], Verdict.CONTRADICTED),
        ([replace(SEEN, moved=(4, 4))], Verdict.CONTRADICTED),
        ([replace(SEEN, moved=(5,))], Verdict.PROVEN),
        ([SILENT, replace(SEEN, moved=(0, 0)), SEEN], Verdict.CONTRADICTED),
    ],
)
def test_a_receipt_is_proven_by_every_node_and_contradicted_by_any(
    sights: list[Sight | None], verdict: Verdict
) -> None:
    assert of_receipt(RECEIPT, MOVE, sights) is verdict


def test_a_transaction_that_failed_has_moved_nothing() -> None:
    failed = Sight(HASH, True, FAILED, (0, 0))
    assert of_receipt(FAILED, MOVE, [failed]) is Verdict.PROVEN
    assert of_receipt(FAILED, MOVE, [replace(failed, moved=(0, 5))]) is Verdict.CONTRADICTED
    assert of_receipt(FAILED, None, [replace(failed, moved=())]) is Verdict.PROVEN


def test_another_transaction_is_proven_by_every_node_that_has_it_in_the_same_deep_block() -> None:
    seen = Sight(HASH, True, FAILED)
    assert of_other(USED, [seen, seen]) is Verdict.PROVEN
    for other in (SILENT, replace(seen, receipt=None), replace(seen, is_deep=False), replace(seen, block_hash=None)):
        assert of_other(USED, [seen, other]) is Verdict.OPEN
    elsewhere = replace(seen, receipt=replace(FAILED, block_hash=TX), block_hash=TX)
    assert of_other(USED, [seen, elsewhere]) is Verdict.CONTRADICTED
    assert of_other(replace(USED, block_number=99), [seen]) is Verdict.CONTRADICTED
    assert of_other(USED, [replace(seen, block_hash=TX)]) is Verdict.CONTRADICTED
