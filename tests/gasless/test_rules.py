"""What a gasless payment is, costs and signs, and which ones the next batch makes."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.money import MAX_UINT256, BaseUnits, Fee
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.wallets.delegate import execute_batch
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, MULTICALL3, address_of
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.chains.nodes.readings import AccountReading
from chalicelib.gasless import rules
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, Stage
from chalicelib.gasless.rules import Price, Wish
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.records import Flow, Payable, PayableLink
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.relayer.rules import MOST_BYTES, signature_gas
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.requests import standalone
from tests.fakes.world import START, TERMS, WALLET, World, draft

USDC = require_token("USDC-base")
SENDER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"


def payment(number: int = 0, sender: str = SENDER, **changes: Any) -> GaslessPayment:
    request = standalone(World(client=object()).services, currency="USDC-base")
    position = direct(Owed(request, request.amount, Fee("1", FEE_ADDRESS)))
    domain = TokenDomain(USDC.address, "USD Coin", "2", 8453)
    now = START + timedelta(seconds=number)
    payment_id = ids.ulid(now, lambda size: bytes([number] * size))
    wish = Wish(payment_id, position, None, WALLET, sender, domain, Price(BaseUnits(120_000), BaseUnits(10**9)))
    return replace(rules.offer_payment(wish, now), **changes)


def signed(number: int, length: int = 65, payer: int | None = None, **changes: Any) -> GaslessPayment:
    """Each of a payer of its own, unless one is named."""
    made = payment(number)
    by = replace(made.authorization, payer=f"0x{number if payer is None else payer:040x}")
    accepted = rules.accept_payment(replace(made, authorization=by), bytes(length), False, made.created_at)
    return replace(accepted, **changes)


def test_what_is_signed_is_the_sum_of_amount_fee_and_network_fee() -> None:
    made = payment()
    assert made.authorization.value == made.amount + made.fee + made.network_fee == 12_500_000 + 125_000 + 120_000
    assert made.authorization.nonce == rules.terms_hash(made)
    assert made.deadline == START + rules.LIFETIME


@pytest.mark.parametrize(
    "change",
    [
        {"payment_id": "01JNZYZPK7B4YBPD44TM72NDNJ"}, {"payee": SENDER}, {"amount": BaseUnits(1)},
        {"reference": "0x" + "ff" * 8}, {"fee": BaseUnits(1)}, {"fee_address": SENDER}, {"network_fee": BaseUnits(1)},
        *({name: value} for name, value in (("chain_id", 1), ("token", SENDER), ("payer", SENDER), ("valid_before", 1))),
        {"to": WALLET},
    ],
)  # fmt: skip
def test_each_term_changes_the_nonce(change: dict[str, Any]) -> None:
    made = payment()
    of_authorization = change.keys() <= {"chain_id", "token", "payer", "valid_before", "to"}
    if of_authorization:
        changed = replace(made, authorization=replace(made.authorization, **change))
    else:
        changed = replace(made, **change)
    assert rules.terms_hash(changed) != made.authorization.nonce


def test_nothing_is_received_by_a_contract_from_which_anybody_may_spend() -> None:
    with pytest.raises(BadRequest, match="Multicall3"):
        payment(sender=address_of(MULTICALL3, "base"))


@given(st.integers(0, 10**9), st.integers(1, 10**12))
def test_a_price_covers_the_cost_and_is_never_more_than_the_payment(cost: int, amount: int) -> None:
    try:
        price = rules.price_gas(USDC, cost, BaseUnits(1), amount)
    except BadRequest:
        assert max(cost, 10_000) > amount
    else:
        assert cost <= price.network_fee <= amount and price.network_fee >= 10_000


def test_the_least_network_fee_is_a_cent_and_the_price_of_gas_has_a_margin_of_a_quarter() -> None:
    assert rules.price_gas(USDC, 9_999, BaseUnits(7), 10_000) == Price(BaseUnits(10_000), BaseUnits(7))
    with pytest.raises(BadRequest, match=r"costs 0\.01 USDC now"):
        rules.price_gas(USDC, 0, BaseUnits(7), 9_999)
    reading = AccountReading(1, 0, BaseUnits(0), BaseUnits(900), BaseUnits(101))
    assert rules.gas_cost(reading) == (1_251, 1_251 * 150_000)


def alone(currency: str = "USDC-base", **changes: Any) -> Payable:
    return Payable((standalone(World(client=object()).services, currency=currency, **changes),))


def of_link(**changes: Any) -> PayableLink:
    world = World(client=object())
    return create_link(draft(**{"currency": "USDC-base", **changes}), world.owner, TERMS, world.now, world.services.entropy)


def as_payout(payable: PayableLink) -> PayableLink:
    return replace(payable, link=replace(payable.link, flow=Flow.PAY))


@pytest.mark.parametrize("payable", [alone(), of_link()])
def test_one_payment_in_the_token_of_its_invoice_is_offered_to_whoever_gives_a_wallet(payable: Payable) -> None:
    assert rules.why_refused(payable) is None
    assert rules.check_payer(WALLET) == WALLET
    with pytest.raises(BadRequest, match="wallet is needed"):
        rules.check_payer(None)


@pytest.mark.parametrize(
    ("payable", "why"),
    [
        (alone(recurring_payment_id="01P"), "This request"),
        (alone(is_crypto_to_fiat=True), "This request"),
        (alone("ETH-base-base"), "Only a token"),
        (alone("USDT-tron", payee="TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"), "Only a token"),
        (alone(invoice_currency="USD"), "Only a token"),
        (of_link(currency="ETH-base-base"), "Only a token"),
        (of_link(items=draft(currency="USDC-base").items * 2), "Only a link of one payment"),
        (as_payout(of_link()), "Only a link of one payment"),
        (replace(of_link(), commerce=object()), "A commerce payment"),
    ],
)
def test_others_are_paid_with_transactions(payable: Payable, why: str) -> None:
    assert str(rules.why_refused(payable)).startswith(why)


def test_a_signature_is_taken_until_two_minutes_before_the_deadline() -> None:
    made = payment()
    rules.check_signable(made, made.deadline - timedelta(minutes=2))
    with pytest.raises(BadRequest, match="has expired"):
        rules.check_signable(made, made.deadline - timedelta(minutes=2) + timedelta(milliseconds=1))


def test_a_payment_is_made_only_while_all_that_it_was_offered_for_is_due() -> None:
    made, request = payment(), alone().requests[0]
    rules.check_due(made, request, made.owed)
    for closed, remaining in ((request, made.owed - 1), (replace(request, status=RequestStatus.PAID), made.owed)):
        with pytest.raises(Conflict, match="Less is due"):
            rules.check_due(made, closed, remaining)


def test_a_node_is_believed_that_a_payment_fails_half_a_minute_after_its_signature() -> None:
    made = rules.accept_payment(payment(), b"\1\2", True, START)
    assert (made.stage, made.signature, made.runs_code) == (Stage.SIGNED, "0x0102", True)
    assert (made.accepted_at, made.next_due) == (START, START)
    assert not rules.may_contradict(payment(), START + timedelta(days=1))
    assert not rules.may_contradict(made, START + timedelta(seconds=30) - timedelta(milliseconds=1))
    assert rules.may_contradict(made, START + timedelta(seconds=30))


def test_what_is_put_off_keeps_its_reason_and_is_looked_at_in_twenty_seconds() -> None:
    waiting = rules.put_off(signed(0, reason="why"), None, START)
    assert (waiting.reason, waiting.next_due) == ("why", START + timedelta(seconds=20))
    assert rules.put_off(waiting, "another", START).reason == "another"


def test_a_payment_in_a_batch_waits_for_it_and_one_that_has_ended_for_nothing() -> None:
    batch = GaslessBatch("01B", "base", "acct", SENDER, ("01G",), START)
    sending = rules.begin_sending(batch, signed(0, reason="why"))
    assert (sending.stage, sending.batch_id, sending.reason, sending.next_due) == (Stage.SENDING, "01B", None, None)
    paid = rules.end_payment(signed(0), Stage.PAID, "0x01", "why", START)
    assert (paid.stage, paid.tx_hash, paid.reason, paid.ended_at) == (Stage.PAID, "0x01", "why", START)
    assert paid.next_due is None


def test_a_batch_has_gas_for_each_payment_and_for_each_signature_that_runs_code() -> None:
    assert rules.most_gas([signed(0)]) == 260_000
    more = signature_gas("base")
    assert rules.most_gas([signed(0), signed(1, runs_code=True), signed(2, runs_code=True)]) == 660_000 + 2 * more


def test_a_token_is_approved_once_in_a_batch_unless_it_is_already() -> None:
    batch, taken = [signed(0), signed(1)], [call for each in (0, 1) for call in rules.calls_of(signed(each))]
    approval = erc20.approve(USDC.address, address_of(ERC20_FEE_PROXY, "base"), MAX_UINT256)
    assert rules.transaction_of(SENDER, batch, []) == execute_batch(SENDER, [approval, *taken])
    assert rules.transaction_of(SENDER, batch, [USDC.address.lower()]) == execute_batch(SENDER, taken)


def test_a_batch_is_of_one_account_and_of_at_most_twenty_payments_that_fit() -> None:
    waiting = [signed(each) for each in range(30)]
    others = [replace(signed(each), account_id="other") for each in range(30, 33)]
    batch = rules.choose_payments([*others, *waiting], 0)
    assert [each.payment_id for each in batch] == [each.payment_id for each in waiting[:20]]
    made = rules.transaction_of(SENDER, batch, [])
    assert len(made.data) <= 2 * MOST_BYTES
    long = [signed(each, length=1_024) for each in range(30)]
    assert 0 < len(rules.choose_payments(long, 0)) < 20
    assert len(rules.transaction_of(SENDER, rules.choose_payments(long, 0), []).data) <= 2 * MOST_BYTES


@pytest.mark.parametrize("change", [{"reverts": 1}, {"runs_code": True}, {}])
def test_what_is_made_alone_has_half_of_the_batches_of_its_account_however_many_there_are(change: dict[str, Any]) -> None:
    alone = [replace(signed(each), **change) for each in range(60)]
    waiting, payers = [signed(each) for each in range(60, 64)], () if change else {each.payer for each in alone}
    chosen = [rules.choose_payments([*waiting, *alone], chance, payers) for chance in range(100)]
    assert chosen.count(tuple(waiting)) == chosen.count((alone[0],)) == 50
    assert {rules.choose_payments(waiting, chance, payers) for chance in range(4)} == {tuple(waiting)}
    assert {rules.choose_payments(alone, chance, payers) for chance in range(4)} == {(alone[0],)}


@pytest.mark.parametrize("kind", [{"runs_code": True}, {}])
def test_payments_of_requests_that_anybody_can_create_leave_the_others_of_their_account_their_turns(
    kind: dict[str, Any],
) -> None:
    """Whoever knows a client id creates requests that pay themselves, and pays them by as many wallets as they like."""
    flood = [replace(signed(each), is_public=True, **kind) for each in range(200)]
    own = replace(signed(200), **kind)
    chosen = [rules.choose_payments([*flood, own], chance) for chance in range(100)]
    assert sum(each[0] == own for each in chosen) == 50
    assert sum(each[0] == flood[0] for each in chosen) == 50
    if not kind:
        assert {len(each) for each in chosen} == {20}, "those that go together fill the batch"


def test_each_account_has_the_same_share_of_the_batches_however_many_payments_it_has() -> None:
    flood = [replace(signed(each), account_id="flood", runs_code=True) for each in range(200)]
    few = [signed(each) for each in range(200, 203)]
    chosen = [rules.choose_payments([*flood, *few], chance) for chance in range(100)]
    assert chosen.count((flood[0],)) == chosen.count(tuple(few)) == 50


def test_a_batch_has_one_payment_of_each_payer_who_may_not_have_what_two_take() -> None:
    twice = [signed(each, payer=7) for each in range(7)]
    others = [signed(each) for each in range(10, 13)]
    assert rules.choose_payments([*twice, *others], 0) == (twice[0], *others)


def test_a_batch_is_no_larger_than_the_account_can_pay_the_gas_of() -> None:
    batch = [signed(each) for each in range(4)]
    for number in range(5):
        enough = rules.most_gas(batch[:number]) if number else 0
        assert rules.afford(batch, enough) == batch[:number]
        assert rules.afford(batch, rules.most_gas(batch[: number + 1]) - 1) == batch[: min(number, 3)]


def test_what_is_in_no_batch_is_looked_at_when_its_turn_can_come_and_no_later_than_its_deadline() -> None:
    flood = [signed(each, account_id="flood") for each in range(250)]
    other = signed(250)
    now = START + timedelta(minutes=5)
    later = {each.payment_id: each for each in rules.take_turns([*reversed(flood), rules.put_off(other, "why", START)], now)}
    for number, each in enumerate(flood):
        turn = now + rules.RETRY_AFTER + number // 20 * timedelta(minutes=1)
        assert later[each.payment_id].check_at == min(turn, each.deadline)
    assert (later[other.payment_id].check_at, later[other.payment_id].reason) == (now + rules.RETRY_AFTER, None)


def test_one_that_was_signed_later_does_not_overtake_one_that_waits_for_its_turn() -> None:
    first, second = signed(0), signed(1)
    (waiting,) = rules.take_turns([first], START + timedelta(minutes=3))
    assert rules.choose_payments([second, waiting], 0) == (waiting, second)


def test_one_that_was_tried_without_success_comes_after_those_that_were_not() -> None:
    first, other = (replace(signed(each), runs_code=True) for each in (0, 10))
    assert rules.choose_payments([first, other], 0) == (first,)
    assert rules.choose_payments([rules.put_off(first, "the node does not say", START), other], 0) == (other,)


def test_a_payment_that_reverted_twice_or_is_late_is_given_up() -> None:
    request = standalone(World(client=object()).services, currency="USDC-base")
    made = signed(0)
    assert rules.why_gone(made, request, START) is None
    assert rules.why_gone(replace(made, reverts=1), request, START) is None
    assert rules.why_gone(replace(made, reverts=2), request, START) == "its transactions were reverted"
    closed = replace(request, status=RequestStatus.CANCELLED)
    assert rules.why_gone(made, closed, START) == "the request was paid in another way, or cancelled"
    less = replace(request, paid=BaseUnits(1))
    assert rules.why_gone(made, less, START) == "a part of the request was paid in another way"
    assert rules.why_gone(replace(made, owed=BaseUnits(made.owed - 1)), less, START) is None
    assert rules.why_gone(replace(made, reason="why"), request, made.deadline) == "its deadline is over: why"
    assert rules.why_gone(made, request, made.deadline) == "its deadline is over"
    released = rules.release_payment(replace(made, stage=Stage.SENDING), "why", True, START)
    assert (released.stage, released.reverts, released.check_at) == (Stage.SIGNED, 1, START + rules.RETRY_AFTER)


def test_a_payment_of_a_request_that_is_not_stored_any_more_is_given_up() -> None:
    assert rules.why_gone(signed(0), None, START) == "the request is not kept any more"
