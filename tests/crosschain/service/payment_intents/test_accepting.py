"""Payment intents are offered to be signed, and their signatures are accepted once."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, Locked, NotFound
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents import flows
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import Stage
from chalicelib.crosschain.service.payment_intents.rules import RequestExecuted
from chalicelib.crosschain.service.payment_intents.schemas import payment_intent_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.http.errors import error_body
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.platform.storage.writes import Delete
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.delays import check_not_delayed
from chalicelib.relayer.records import Reverts
from chalicelib.relayer.reverts import payer_name
from tests.fakes.bridge import SOURCE, SOURCE_USDC
from tests.fakes.crash import Interruption
from tests.fakes.lying_node import Liar, served, served_beside
from tests.fakes.payment_intents import CONTRACT, EXECUTOR, HAD, PAYER, RIGHT, WRONG, PaymentIntents
from tests.fakes.router import answer_of, deposit_of
from tests.fakes.world import PlainSigningKeys

BASE_USDC = SourceToken("BASE", "USDC")


@pytest.fixture
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


def pay(payment_intents: PaymentIntents, owner: Owner | None = None, **options: Any) -> Prepared | Offer:
    asked = PayOptions(**{"wallet": PAYER, "source": BASE_USDC, **options})
    viewer = Viewer("acct", None)
    return paying.pay(
        payment_intents.services,
        payment_intents.request.request_id,
        owner or payment_intents.owner,
        viewer,
        asked,
        Part(),
    )


def test_a_client_id_that_wants_it_gets_a_payment_intent_and_no_transactions(payment_intents: PaymentIntents) -> None:
    made = pay(payment_intents)
    assert isinstance(made, Offer)
    answer = payment_intent_answer(made).model_dump()
    assert set(answer) == {
        "paymentIntentId", "paymentIntent", "approvalPermitPayload", "approvalCalldata", "metadata"
    }
    typed = json.loads(answer["paymentIntent"])
    quoted = made.intent.permit
    assert set(typed) == {"domain", "types", "values"} and typed["values"]["spender"] == EXECUTOR
    assert [int(each["amount"]) for each in typed["values"]["permitted"]] == [12_500_000, 0, quoted.fee]
    assert quoted.most == 12_530_000 * 10_050 // 10_000
    assert int(typed["values"]["deadline"]) == int(payment_intents.world.now.timestamp()) + 3600
    assert answer["approvalPermitPayload"] is answer["approvalCalldata"] is None


def test_others_get_transactions(payment_intents: PaymentIntents) -> None:
    assert isinstance(pay(payment_intents, Owner("acct", None, None)), Prepared)
    assert isinstance(pay(payment_intents, source=None, wallet=None), Prepared)


def test_the_nonces_of_one_millisecond_differ(payment_intents: PaymentIntents) -> None:
    assert payment_intents.offer().intent.permit.nonce != payment_intents.offer().intent.permit.nonce


def test_an_approval_is_sent_where_the_token_has_no_permit(payment_intents: PaymentIntents) -> None:
    payment_intents.allowances.clear()
    offer = payment_intents.offer()
    assert offer.intent.token_permit is None and offer.approval is not None
    assert offer.approval.data == "0x095ea7b3" + encode(["address", "uint256"], [CONTRACT, MAX_UINT256]).hex()


def with_permit(payment_intents: PaymentIntents) -> None:
    """The token answers as USDC does, and there is no allowance yet."""
    domain = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    values = [keccak(text=domain), keccak(text="USD Coin"), keccak(text="2"), 8453, SOURCE_USDC]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], values))
    answers = (encode(["string"], ["USD Coin"]), encode(["string"], ["2"]), separator, encode(["uint256"], [7]))
    payment_intents.chain.read_permit_answers = lambda token, owner: answers  # type: ignore[method-assign]
    payment_intents.allowances.clear()


def accepted_with_permit(payment_intents: PaymentIntents) -> Any:
    with_permit(payment_intents)
    intent = payment_intents.offer().intent
    assert intent.token_permit is not None and intent.token_permit.nonce == 7
    assert payment_intents.offer().approval is None, "it is signed, not sent"
    approval = replace(payment_intents.sign(intent), nonce="7")
    return flows.accept(
        payment_intents.services, payment_intents.owner, intent.intent_id, payment_intents.sign(intent), approval
    )


def test_an_approval_with_another_nonce_is_refused(payment_intents: PaymentIntents) -> None:
    with_permit(payment_intents)
    intent = payment_intents.offer().intent
    sent = payment_intents.sign(intent)
    with pytest.raises(BadRequest, match="signedApprovalPermit: nonce and deadline have to be those"):
        flows.accept(payment_intents.services, payment_intents.owner, intent.intent_id, sent, replace(sent, nonce="8"))


def test_an_approval_that_could_be_signed_may_be_sent_as_a_transaction_instead(payment_intents: PaymentIntents) -> None:
    with_permit(payment_intents)
    intent = payment_intents.offer().intent
    with pytest.raises(BadRequest, match="^Permit2 may not take the tokens: send approvalCalldata first, or sign"):
        payment_intents.accept(intent)
    payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = MAX_UINT256
    payment_intents.run_until_bridged(payment_intents.accept(intent))
    assert (payment_intents.made["permit"], payment_intents.made["take"]) == (0, 1)


@pytest.mark.parametrize("length", [64, 66])
def test_an_approval_is_the_signature_of_a_key_which_has_65_bytes(payment_intents: PaymentIntents, length: int) -> None:
    with_permit(payment_intents)
    intent = payment_intents.offer().intent
    sent = payment_intents.sign(intent)
    approval = replace(sent, nonce="7", signature="0x" + "5a" * length)
    with pytest.raises(BadRequest, match="^signedApprovalPermit: the signature has 65 bytes"):
        flows.accept(payment_intents.services, payment_intents.owner, intent.intent_id, sent, approval)


def test_what_the_node_cannot_judge_is_not_accepted(
    payment_intents: PaymentIntents, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent = payment_intents.offer().intent
    monkeypatch.setattr(
        payment_intents.chain, "run_each", lambda sender, wanted: (StepResult(None, "busy"),) * len(wanted)
    )
    with pytest.raises(ChainUnavailable, match="does not say what the call leads to"):
        payment_intents.accept(intent)
    assert payment_intents.load(intent).stage is Stage.OFFERED


def test_an_approval_that_was_signed_is_sent_before_the_tokens_are_taken(payment_intents: PaymentIntents) -> None:
    intent = accepted_with_permit(payment_intents)
    payment_intents.run_until_bridged(intent)
    assert payment_intents.made["permit"] == payment_intents.made["take"] == 1


def test_an_approval_that_somebody_else_has_sent_is_as_good(payment_intents: PaymentIntents) -> None:
    intent = accepted_with_permit(payment_intents)
    payment_intents.refuses = {"permit": "ERC20Permit: invalid signature"}  # its nonce is used
    payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = MAX_UINT256
    payment_intents.run_until_bridged(intent)
    assert (payment_intents.made["permit"], payment_intents.made["take"]) == (0, 1)


def test_an_approval_that_is_not_needed_any_more_is_not_sent(payment_intents: PaymentIntents) -> None:
    """It would succeed, as it was not sent by anybody: the payer has approved Permit2 by a transaction meanwhile."""
    intent = accepted_with_permit(payment_intents)
    payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = MAX_UINT256
    payment_intents.run_until_bridged(intent)
    assert (payment_intents.made["permit"], payment_intents.made["take"]) == (0, 1)


def test_an_approval_that_a_stranger_sends_before_the_service_delays_nothing_of_its_payer(
    payment_intents: PaymentIntents,
) -> None:
    """A stranger takes it from the pool of the nodes: the service's own, which is sent by then, is reverted."""
    intent = accepted_with_permit(payment_intents)
    payment_intents.fails = {"permit"}  # not when it is run before it is sent
    payment_intents.run()
    payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = MAX_UINT256
    payment_intents.run_until_bridged(intent)
    reverts = relayer_store.reverts(payment_intents.services.store, SOURCE, payer_name(PAYER))
    assert reverts is not None and reverts.count == 0
    assert (payment_intents.made["permit"], payment_intents.made["take"]) == (0, 1)
    check_not_delayed(payment_intents.services, SOURCE, PAYER)


def test_an_approval_that_the_token_refuses_is_refused(payment_intents: PaymentIntents) -> None:
    payment_intents.refuses = {"permit": "ERC20Permit: invalid signature"}
    with pytest.raises(BadRequest, match="signedApprovalPermit: USDC does not accept it"):
        accepted_with_permit(payment_intents)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonce": "1"}, "nonce and deadline have to be those"),
        ({"deadline": "1"}, "nonce and deadline have to be those"),
        ({"signature": "0x" + WRONG.hex()}, "is not that of"),
        ({"signature": "0x12"}, "hexadecimal digits"),
        ({"signature": "zz" * 65}, "hexadecimal digits"),
    ],
)
def test_what_is_not_signed_as_it_was_offered_is_refused(
    payment_intents: PaymentIntents, change: dict[str, str], message: str
) -> None:
    intent = payment_intents.offer().intent
    sent = replace(payment_intents.sign(intent), **change)
    with pytest.raises(BadRequest, match=message):
        flows.accept(payment_intents.services, payment_intents.owner, intent.intent_id, sent, None)
    assert payment_intents.load(intent).stage is Stage.OFFERED and not payment_intents.loaded().is_executed


def test_the_same_signature_is_accepted_again_and_another_one_is_not(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.begun()
    assert payment_intents.accept(intent) == payment_intents.load(intent)
    payment_intents.right.add(WRONG)
    with pytest.raises(Conflict, match="Another signature"):
        payment_intents.accept(intent, WRONG)


def test_while_one_is_made_nothing_else_pays_the_request(payment_intents: PaymentIntents) -> None:
    other = payment_intents.offer().intent
    intent = payment_intents.begun()
    with pytest.raises(RequestExecuted, match=intent.intent_id) as refused:
        payment_intents.accept(other)
    assert error_body(refused.value)["execution"] == {"paymentIntentId": intent.intent_id, "status": "pending"}
    with pytest.raises(Locked):
        pay(payment_intents, Owner("acct", None, None))
    viewer, owner = Viewer("acct", None), Owner("acct", None, None)
    name = payment_intents.request.request_id
    assert paying.direct_route(payment_intents.services, name, owner, viewer, PAYER, Part()) is None


def test_no_signature_locks_a_request_for_a_payer_whose_calls_wait_for_a_day(payment_intents: PaymentIntents) -> None:
    now, intent = payment_intents.world.now, payment_intents.offer().intent
    delayed = Reverts(intent.network, payer_name(PAYER), 1, now - timedelta(days=1), until=now + timedelta(seconds=1))
    payment_intents.services.store.write(delayed)
    with pytest.raises(Conflict, match="makes no payment for this wallet now: the last call for this payer was reverted"):
        payment_intents.accept(intent)
    assert not payment_intents.loaded().is_executed
    payment_intents.world.advance(1)
    payment_intents.accept(intent)
    assert payment_intents.loaded().is_executed


def test_a_signature_that_comes_late_is_refused(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.world.advance(3600 - 100)
    with pytest.raises(BadRequest, match="has expired"):
        payment_intents.accept(intent)


def test_one_that_is_unknown_or_of_another_account_is_not_found(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    for owner, name in (
        (Owner("other", None, None), intent.intent_id),
        (payment_intents.owner, "01JNZYZPK7B4YBPD44TM72NDNJ"),
    ):
        with pytest.raises(NotFound, match="Payment intent data not found"):
            flows.accept(payment_intents.services, owner, name, payment_intents.sign(intent), None)
    payment_intents.world.advance(3 * 86_400)
    with pytest.raises(NotFound):
        payment_intents.accept(intent)


def test_one_that_vanishes_now_is_not_found_also_while_the_store_still_has_it(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    assert intent.vanishes_at is not None
    payment_intents.world.now = intent.vanishes_at - timedelta(seconds=1)
    with pytest.raises(BadRequest, match="has expired"):
        payment_intents.accept(intent)
    payment_intents.world.now = intent.vanishes_at
    with pytest.raises(NotFound):
        payment_intents.accept(intent)


def test_before_the_first_reading_of_the_chain_of_the_request_no_signature_is_accepted(
    payment_intents: PaymentIntents,
) -> None:
    """It is not known from which block on its payment is looked for."""
    intent = payment_intents.offer().intent
    cursor = scan_store.cursor(payment_intents.services.store, "arbitrum-one")
    assert cursor is not None
    payment_intents.services.store.write(Delete(cursor))
    with pytest.raises(ChainUnavailable, match="Detection has not begun on arbitrum-one yet"):
        payment_intents.accept(intent)


def test_a_payer_with_exactly_what_is_taken_can_pay() -> None:
    taking = PaymentIntents().begun().taking
    for balance in (taking, taking - 1):
        payment_intents = PaymentIntents()
        payment_intents.balances[PAYER.lower()] = balance
        if balance == taking:
            assert payment_intents.begun().taking == taking
        else:
            with pytest.raises(BadRequest, match="does not have enough USDC on base"):
                payment_intents.begun()


def test_a_request_that_is_paid_meanwhile_takes_no_signature(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.bridge.destination.pay(payment_intents.loaded())
    payment_intents.bridge.tick()
    with pytest.raises(Conflict, match="already been paid"):
        payment_intents.accept(intent)


def test_of_a_request_that_is_paid_in_part_meanwhile_less_is_due(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.bridge.destination.pay(payment_intents.loaded(), BaseUnits(1_000_000))
    payment_intents.bridge.tick()
    with pytest.raises(Conflict, match="Less is due"):
        payment_intents.accept(intent)


def test_an_allowance_of_exactly_what_may_be_taken_needs_no_approval_and_one_less_does(
    payment_intents: PaymentIntents,
) -> None:
    intent, key = payment_intents.offer().intent, (PAYER.lower(), CONTRACT.lower())
    payment_intents.allowances[key] = intent.permit.most
    assert payment_intents.offer().approval is None
    payment_intents.allowances[key] = intent.permit.most - 1
    assert payment_intents.offer().approval is not None
    taking = PaymentIntents().begun().taking
    payment_intents.allowances[key] = taking - 1
    with pytest.raises(BadRequest, match="^Permit2 may not take the tokens"):
        payment_intents.accept(intent)
    payment_intents.allowances[key] = taking
    assert payment_intents.accept(intent).taking == taking


def test_a_route_that_costs_exactly_what_was_signed_is_taken(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.world.advance(120)

    def dearer(answer: dict[str, Any]) -> Any:
        wanted = payment_intents.world.router.calls[-1]
        deposit = deposit_of(wanted, int(payment_intents.world.now.timestamp()))
        return answer_of(replace(deposit, input_amount=intent.permit.most), wanted)

    payment_intents.world.router.change = dearer
    assert payment_intents.accept(intent).taking == intent.permit.most


def test_a_route_that_is_dearer_than_what_was_signed_is_refused(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.world.advance(120)

    def dearer(answer: dict[str, Any]) -> Any:
        wanted = payment_intents.world.router.calls[-1]
        deposit = deposit_of(wanted, int(payment_intents.world.now.timestamp()))
        return answer_of(replace(deposit, input_amount=intent.permit.most + 1), wanted)

    payment_intents.world.router.change = dearer
    with pytest.raises(Conflict, match="costs more now"):
        payment_intents.accept(intent)


def test_without_a_route_nothing_is_offered_or_accepted(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.world.advance(120)
    for act in (payment_intents.offer, lambda: payment_intents.accept(intent)):
        with pytest.raises(BadRequest, match="not available at the moment"):
            act()
    assert payment_intents.load(intent).stage is Stage.OFFERED


def test_a_payer_with_too_little_is_told_so(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.balances[PAYER.lower()] = 12_000_000
    with pytest.raises(BadRequest, match="does not have enough USDC on base"):
        payment_intents.accept(intent)


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("22" * 32)


def test_a_signature_for_an_account_that_was_replaced_is_refused(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    payment_intents.world.services = replace(payment_intents.services, signing_keys=OtherKeys())
    with pytest.raises(Conflict, match="^The service's account on base is not .* any more: get another payment intent"):
        payment_intents.accept(intent)
    assert not payment_intents.loaded().is_executed


def test_a_signature_is_refused_once_the_service_has_no_key_on_the_network(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    settings = replace(payment_intents.services.settings, relayer_keys={})
    payment_intents.world.services = replace(payment_intents.services, settings=settings)
    with pytest.raises(Conflict, match="^The service sends no transactions on base any more: get another"):
        payment_intents.accept(intent)


def test_a_deployment_without_a_key_on_the_network_says_so() -> None:
    payment_intents = PaymentIntents()
    without = replace(payment_intents.services.settings, relayer_keys={})
    payment_intents.world.services = replace(payment_intents.services, settings=without)
    with pytest.raises(BadRequest, match="RELAYER_KEYS"):
        payment_intents.offer()


@pytest.mark.parametrize("position", range(1, 9))
def test_of_two_at_once_one_is_accepted(payment_intents: PaymentIntents, position: int) -> None:
    first, second = payment_intents.offer().intent, payment_intents.offer().intent
    services = payment_intents.guarded(Interruption(position, lambda: payment_intents.accept(second)))
    with suppress(Locked, WriteConflict):
        flows.accept(services, payment_intents.owner, first.intent_id, payment_intents.sign(first), None)
    stages = [payment_intents.load(each).stage for each in (first, second)]
    assert Stage.TAKING in stages and stages.count(Stage.OFFERED) == 1


def test_a_contract_wallet_sends_an_approval_also_where_the_token_takes_the_signature_of_a_key(
    payment_intents: PaymentIntents,
) -> None:
    with_permit(payment_intents)
    payment_intents.chain.contracts.add(PAYER)
    with pytest.raises(BadRequest, match="is a contract on base and not on arbitrum-one"):
        payment_intents.offer()
    payment_intents.bridge.destination.contracts.add(PAYER)
    offer = payment_intents.offer()
    assert offer.intent.token_permit is None and offer.approval is not None


@pytest.mark.parametrize(("network", "there"), [("base", False), ("arbitrum-one", True)])
def test_no_node_alone_says_that_what_comes_back_to_a_contract_wallet_is_not_lost(
    payment_intents: PaymentIntents, network: str, there: bool
) -> None:
    payment_intents.chain.contracts.add(PAYER)
    true = payment_intents.services
    honest = true.chains.evm(network)

    def read_wallet(*args: Any, **options: Any) -> Any:
        return replace(honest.read_wallet(*args, **options), is_contract=there)

    liar = Liar(honest, has_code=lambda address: there, read_wallet=read_wallet)
    payment_intents.world.services = served(true, network, liar, honest)
    with pytest.raises(NodesDisagree):
        payment_intents.offer()


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("balance", "allowance"), [(0, HAD), (HAD, 0)])
def test_no_node_alone_says_that_a_payer_cannot_pay(
    payment_intents: PaymentIntents, balance: int, allowance: int, is_first: bool
) -> None:
    offer, honest = payment_intents.offer(), payment_intents.chain
    said = WalletReading(
        BaseUnits(10**18), {SOURCE_USDC: TokenReading(BaseUnits(balance), BaseUnits(allowance))}, BaseUnits(1), 0, False
    )
    liar = Liar(honest, read_wallet=lambda *args, **kwargs: said)
    true = payment_intents.services
    payment_intents.world.services = served_beside(true, "base", liar, is_first)
    with pytest.raises(ChainUnavailable, match="do not say the same of the payer's USDC"):
        payment_intents.accept(offer.intent)
    payment_intents.world.services = true
    payment_intents.run_until_bridged(payment_intents.accept(offer.intent))


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("balance", "allowance", "why"), [(0, HAD, "does not have enough"), (HAD, 0, "may not take")])
def test_no_node_alone_says_that_a_payer_can_pay(
    payment_intents: PaymentIntents, balance: int, allowance: int, why: str, is_first: bool
) -> None:
    """The request would be locked for a payment that cannot be made."""
    offer, honest = payment_intents.offer(), payment_intents.chain
    payment_intents.balances[PAYER.lower()] = balance
    payment_intents.allowances[PAYER.lower(), CONTRACT.lower()] = allowance
    token = TokenReading(BaseUnits(HAD), BaseUnits(HAD))
    said = WalletReading(BaseUnits(10**18), {SOURCE_USDC: token}, BaseUnits(1), 0, False)
    liar = Liar(honest, read_wallet=lambda *args, **kwargs: said)
    true = payment_intents.services
    payment_intents.world.services = served_beside(true, "base", liar, is_first)
    with pytest.raises(ChainUnavailable, match="do not say the same of the payer's USDC"):
        payment_intents.accept(offer.intent)
    payment_intents.world.services = true
    with pytest.raises(BadRequest, match=why):
        payment_intents.accept(offer.intent)


@pytest.mark.parametrize("small", [0, 1])
def test_a_signature_of_a_wallet_that_returns_0_or_1_as_v_is_accepted_in_either_form(
    payment_intents: PaymentIntents, small: int
) -> None:
    sent, usual = RIGHT[:64] + bytes([small]), RIGHT[:64] + bytes([27 + small])
    payment_intents.right = {usual}
    intent = payment_intents.accept(payment_intents.offer().intent, sent)
    assert intent.signature == "0x" + usual.hex(), "the form that Permit2 takes"
    for again in (sent, usual):
        assert payment_intents.accept(intent, again) == payment_intents.load(intent)
    payment_intents.run_until_bridged(intent)


def test_another_v_is_left_as_it_is(payment_intents: PaymentIntents) -> None:
    payment_intents.right = {RIGHT[:64] + bytes([29])}
    with pytest.raises(BadRequest, match="is not that of"):
        payment_intents.accept(payment_intents.offer().intent, RIGHT[:64] + bytes([2]))


def test_a_longer_signature_of_a_contract_wallet_is_left_as_it_is(payment_intents: PaymentIntents) -> None:
    sent = bytes(range(130))
    payment_intents.right = {sent}
    assert payment_intents.accept(payment_intents.offer().intent, sent).signature == "0x" + sent.hex()


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (None, f"the signature is not that of {PAYER} over this payment intent"),
        ("the token is paused", "Permit2 does not accept it: the token is paused"),
    ],
)
def test_the_payer_is_told_why_permit2_does_not_accept_the_signature(
    payment_intents: PaymentIntents, reason: str | None, message: str
) -> None:
    intent = payment_intents.offer().intent
    if reason is not None:
        payment_intents.refuses["take"] = reason
    with pytest.raises(BadRequest, match=f"^signedPaymentIntent: {message}$"):
        payment_intents.accept(intent, WRONG)


def test_a_signature_has_64_to_4096_bytes(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.offer().intent
    for length, message in ((63, "hexadecimal digits of 64 to 4096"), (64, "is not that of"), (4096, "is not that of")):
        with pytest.raises(BadRequest, match=message):
            payment_intents.accept(intent, b"\x05" * length)
    with pytest.raises(BadRequest, match="hexadecimal digits"):
        payment_intents.accept(intent, b"\x05" * 4097)
