"""What the calls of an operation may cost and run, and what becomes of an operation by the outcome of its call."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.commerce.core.records import Collector, OperationKind, PendingOperation
from chalicelib.commerce.service import operation_steps, rules
from chalicelib.commerce.service.rules import Asked
from chalicelib.commerce.service.transactions import info_of
from chalicelib.payments.scanning import store as scan_store
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.records import CallStatus, Taking
from chalicelib.relayer.rules import Call, Use, signature_gas
from tests.fakes.commerce import BUYER, OTHER, new_payment
from tests.fakes.escrows import AMOUNT, CONTRACTS, OPERATOR, PAYER, Commerce
from tests.fakes.world import PAYEE, START

MADE = Transaction("0x" + "e1" * 20, "0x1234", 0)
FACTORY = "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67"
KINDS = OperationKind
FOLLOWING = 200_000
"""Of gas: one call that has to follow another one."""


@pytest.fixture(scope="module")
def commerce() -> Commerce:
    return Commerce()


def call(commerce: Commerce, kind: OperationKind, takes: Taking | None = None, **changes: Any) -> Call:
    pending = PendingOperation(1, kind, BaseUnits(10), START, payer=BUYER)
    kept = {name: changes.pop(name) for name in ("collector", "signature") if name in changes}
    payment = new_payment(START, pending=replace(pending, **kept), escrow=CONTRACTS.escrow, **changes)
    return operation_steps.call_of(commerce.services, payment, "key", MADE, takes)


def test_a_call_is_for_the_account_of_the_payment_and_has_a_limit_of_gas(commerce: Commerce) -> None:
    made = call(commerce, KINDS.VOID)
    assert (made.key, made.network) == ("key", "sepolia")
    assert (made.to, made.data, made.value) == (MADE.to, MADE.data, MADE.value)
    assert (made.account_id, made.gas_limit, made.runs_foreign_code) == ("acct", 600_000, False)
    assert (made.takes, made.payers) == (None, ())


@pytest.mark.parametrize("kind", [KINDS.AUTHORIZE, KINDS.CHARGE])
def test_what_a_call_takes_from_whom_is_stated_and_its_reverts_are_the_payers(kind: OperationKind, commerce: Commerce) -> None:
    spenders = {
        Collector.PRE_APPROVAL: CONTRACTS.pre_approval,
        Collector.ERC3009: CONTRACTS.erc3009,
        Collector.PERMIT2: address_of(PERMIT2, "sepolia"),
    }
    for collector, spender in spenders.items():
        made = call(commerce, kind, collector=collector, signature="5a" * 65)
        assert made.takes is not None and made.payers == (BUYER,)
        assert (made.takes.wallet, made.takes.spender, made.takes.amount) == (BUYER, spender, 10)


def test_what_has_to_follow_is_counted_with_what_takes_tokens_so_that_no_limit_stops_it_later(commerce: Commerce) -> None:
    takes, captured = Taking(PAYEE, MADE.to, OPERATOR, BaseUnits(10)), BaseUnits(1)

    def budget(*args: Any, **changes: Any) -> tuple[Use, int]:
        made = call(commerce, *args, **changes)
        return made.use, made.prepays

    assert budget(KINDS.AUTHORIZE) == (Use.ORDINARY, 2 * FOLLOWING), "a capture and a void"
    assert budget(KINDS.CHARGE) == (Use.ORDINARY, 0)
    assert budget(KINDS.CAPTURE) == (Use.PREPAID, 0), "the first one"
    assert budget(KINDS.CAPTURE, captured=captured) == (Use.PROTECTED, 0)
    assert budget(KINDS.VOID, captured=captured) == (Use.PREPAID, 0)
    assert budget(KINDS.REFUND, takes) == (Use.PROTECTED, 2 * FOLLOWING), "an approval and the refund or return"
    assert budget(KINDS.REFUND) == (Use.PREPAID, 0)


@pytest.mark.parametrize("collector", [Collector.ERC3009, Collector.PERMIT2])
@pytest.mark.parametrize("kind", [KINDS.AUTHORIZE, KINDS.CHARGE])
def test_a_wallet_with_code_runs_it_with_the_gas_that_an_honest_one_needs(
    kind: OperationKind, collector: Collector
) -> None:
    commerce = Commerce()
    signed = {"collector": collector, "signature": "5a" * 65}
    plain = call(commerce, kind, **signed)
    assert (plain.gas_limit, plain.runs_foreign_code) == (600_000, False)
    commerce.chain.has_code = lambda address: address == BUYER
    made = call(commerce, kind, **signed)
    assert (made.gas_limit, made.runs_foreign_code) == (300_000 + signature_gas("sepolia"), True)
    approved = call(commerce, kind)
    assert not approved.runs_foreign_code, "a pre-approval was a transaction of the wallet"


def test_a_wallet_that_a_listed_factory_deploys_has_gas_for_that_too() -> None:
    commerce = Commerce(relayer_wallet_factories=(FACTORY,))
    signature = erc6492.wrap(FACTORY, b"\x12", b"\x01" * 65).hex()
    made = call(commerce, KINDS.AUTHORIZE, collector=Collector.ERC3009, signature=signature)
    assert (made.gas_limit, made.runs_foreign_code) == (300_000 + signature_gas("sepolia", deploys=True), True)
    assert made.prepays == 2 * FOLLOWING
    other = erc6492.wrap(PAYEE, b"\x12", b"\x01" * 65).hex()
    with pytest.raises(Conflict, match="not deployed yet"):
        call(commerce, KINDS.AUTHORIZE, collector=Collector.ERC3009, signature=other)


@pytest.fixture
def capturing() -> tuple[Commerce, Any]:
    """A payment whose capture is in no block yet, and the newest block whose logs are recorded."""
    commerce = Commerce()
    created = commerce.authorized()
    commerce.chain.mempool.holds = True
    commerce.capture(created, 10)
    return commerce, created


def recorded_to(commerce: Commerce) -> int:
    cursor = scan_store.cursor(commerce.services.store, "sepolia")
    assert cursor is not None
    return cursor.scanned_to


@pytest.mark.parametrize("status", [CallStatus.SUCCEEDED, CallStatus.REVERTED])
def test_an_operation_goes_on_until_the_logs_of_the_block_of_its_call_are_recorded(
    capturing: tuple[Commerce, Any], status: CallStatus
) -> None:
    """Else it would have failed while its event is still to come, and another one could begin."""
    commerce, created = capturing
    unread, tx_hash = recorded_to(commerce) + 1, "0x" + "77" * 32
    for block in (None, unread):
        known = Outcome(status, tx_hash, block, "it reverted")
        kept = operation_steps.after_outcome(commerce.services, commerce.load(created), known)
        assert kept == commerce.load(created) and kept.pending is not None and kept.failure is None
        assert kept.check_at == commerce.world.now + rules.MIN_DELAY
        if status is CallStatus.SUCCEEDED:
            assert kept.pending.transaction_hash == tx_hash, "that of the transaction that was executed"
    commerce.world.scan()
    known = Outcome(status, tx_hash, recorded_to(commerce), "it reverted")
    if status is CallStatus.SUCCEEDED:
        kept = operation_steps.after_outcome(commerce.services, commerce.load(created), known)
        assert kept.pending is not None, "until the block was read again"
        for _ in range(14):
            commerce.world.advance(60)
            commerce.world.scan()
    ended = operation_steps.after_outcome(commerce.services, commerce.load(created), known)
    says = operation_steps.NO_EVENT if status is CallStatus.SUCCEEDED else "it reverted"
    assert (ended.pending, ended.failure) == (None, says)


def test_a_call_whose_nonce_another_transaction_took_goes_back_at_once_as_it_is_in_no_block(
    capturing: tuple[Commerce, Any],
) -> None:
    commerce, created = capturing
    ended = operation_steps.after_outcome(commerce.services, commerce.load(created), Outcome(CallStatus.SUPERSEDED))
    assert (ended.pending, ended.failure) == (None, "another transaction took its place")


def test_without_a_key_on_the_network_nothing_is_reserved_and_the_caller_is_told() -> None:
    commerce = Commerce()
    created = commerce.authorized()
    settings = replace(commerce.services.settings, relayer_keys={})
    with pytest.raises(Conflict, match="sends no transactions on sepolia any more"):
        commerce.capture(created, 10, services=replace(commerce.services, settings=settings))
    assert commerce.load(created).pending is None


def test_the_entry_that_finds_a_payment_by_its_hash_is_made_once_the_payer_is_known_and_only_once(
    commerce: Commerce,
) -> None:
    named = PendingOperation(1, KINDS.AUTHORIZE, BaseUnits(10), START, payer=OTHER)
    terms = replace(commerce.create(buyer_address=None).payment, payment_hash=None)
    (entry,) = operation_steps.references(commerce.services, terms, named)
    assert (entry.payable_id, entry.payer) == (terms.payable_id, OTHER)
    assert operation_steps.references(commerce.services, terms, replace(named, payer=None)) == ()
    assert operation_steps.references(commerce.services, replace(terms, payment_hash="0x12"), named) == (), "it is stored"
    commerce.services.store.write(entry)
    assert operation_steps.references(commerce.services, terms, named) == ()


def test_a_wallet_that_only_the_merchant_has_named_is_found_by_the_escrows_event() -> None:
    commerce = Commerce()
    created = commerce.create(buyer_address=None)
    commerce.send(PAYER, *escrow_calls.pre_approve(info_of(created.payment, PAYER), CONTRACTS))
    commerce.execute(created, KINDS.AUTHORIZE, Asked(payer=PAYER))
    commerce.settle(2)
    assert (commerce.load(created).authorized, commerce.load(created).payer) == (AMOUNT, PAYER)
