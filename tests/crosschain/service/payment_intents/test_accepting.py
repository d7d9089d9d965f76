"""Payment intents are offered to be signed, and their signatures are accepted once."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict, Locked, NotFound
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.requests import flows as requests
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents import flows
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent, Stage
from chalicelib.crosschain.service.payment_intents.rules import RequestExecuted
from chalicelib.crosschain.service.payment_intents.schemas import payment_intent_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.http.errors import error_body
from chalicelib.platform.outbound.lifi import RouterUnavailable
from chalicelib.platform.storage.codec import decode
from chalicelib.platform.storage.items import item_of
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.bridge import SOURCE_USDC
from tests.fakes.crash import Interruption
from tests.fakes.permits import CONTRACT, EXECUTOR, PAYER, WRONG, Permits
from tests.fakes.router import answer_of, deposit_of
from tests.fakes.world import PlainSigningKeys

BASE_USDC = SourceToken("BASE", "USDC")


@pytest.fixture
def permits() -> Permits:
    return Permits()


def pay(permits: Permits, owner: Owner | None = None, **options: Any) -> Prepared | Offer:
    asked = PayOptions(**{"wallet": PAYER, "source": BASE_USDC, **options})
    viewer = Viewer("acct", None)
    return requests.pay(permits.services, permits.request.request_id, owner or permits.owner, viewer, asked, Part())


def test_a_client_id_that_wants_it_gets_a_payment_intent_and_no_transactions(permits: Permits) -> None:
    made = pay(permits)
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
    assert int(typed["values"]["deadline"]) == int(permits.world.now.timestamp()) + 3600
    assert answer["approvalPermitPayload"] is answer["approvalCalldata"] is None


def test_others_get_transactions(permits: Permits) -> None:
    assert isinstance(pay(permits, Owner("acct", None, None)), Prepared)
    assert isinstance(pay(permits, source=None, wallet=None), Prepared)


def test_the_nonces_of_one_millisecond_differ(permits: Permits) -> None:
    assert permits.offer().intent.permit.nonce != permits.offer().intent.permit.nonce


def test_an_approval_is_sent_where_the_token_has_no_permit(permits: Permits) -> None:
    permits.allowances.clear()
    offer = permits.offer()
    assert offer.intent.token_permit is None and offer.approval is not None
    assert offer.approval.data == "0x095ea7b3" + encode(["address", "uint256"], [CONTRACT, MAX_UINT256]).hex()


def with_permit(permits: Permits) -> None:
    """The token answers as USDC does, and there is no allowance yet."""
    domain = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    values = [keccak(text=domain), keccak(text="USD Coin"), keccak(text="2"), 8453, SOURCE_USDC]
    separator = keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], values))
    answers = (encode(["string"], ["USD Coin"]), encode(["string"], ["2"]), separator, encode(["uint256"], [7]))
    permits.chain.read_permit_answers = lambda token, owner: answers  # type: ignore[method-assign]
    permits.allowances.clear()


def accepted_with_permit(permits: Permits) -> Any:
    with_permit(permits)
    intent = permits.offer().intent
    assert intent.token_permit is not None and intent.token_permit.nonce == 7
    approval = replace(permits.sign(intent), nonce="7")
    return flows.accept(permits.services, permits.owner, intent.intent_id, permits.sign(intent), approval)


def test_an_approval_with_another_nonce_is_refused(permits: Permits) -> None:
    with_permit(permits)
    intent = permits.offer().intent
    sent = permits.sign(intent)
    with pytest.raises(BadRequest, match="signedApprovalPermit: nonce and deadline have to be those"):
        flows.accept(permits.services, permits.owner, intent.intent_id, sent, replace(sent, nonce="8"))


def test_what_the_node_cannot_judge_is_not_accepted(permits: Permits, monkeypatch: pytest.MonkeyPatch) -> None:
    intent = permits.offer().intent
    monkeypatch.setattr(permits.chain, "run_each", lambda sender, wanted: (StepResult(None, "busy"),) * len(wanted))
    with pytest.raises(ChainUnavailable, match="does not say what the call leads to"):
        permits.accept(intent)
    assert permits.load(intent).stage is Stage.OFFERED


def test_an_approval_that_was_signed_is_sent_before_the_tokens_are_taken(permits: Permits) -> None:
    intent = accepted_with_permit(permits)
    permits.run_until_bridged(intent)
    assert permits.made["permit"] == permits.made["take"] == 1


def test_an_approval_that_somebody_else_has_sent_is_as_good(permits: Permits) -> None:
    intent = accepted_with_permit(permits)
    permits.refuses = {"permit": "ERC20Permit: invalid signature"}  # its nonce is used
    permits.allowances[PAYER.lower(), CONTRACT.lower()] = MAX_UINT256
    permits.run_until_bridged(intent)
    assert (permits.made["permit"], permits.made["take"]) == (0, 1)


def test_an_approval_that_the_token_refuses_is_refused(permits: Permits) -> None:
    permits.refuses = {"permit": "ERC20Permit: invalid signature"}
    with pytest.raises(BadRequest, match="signedApprovalPermit: USDC does not accept it"):
        accepted_with_permit(permits)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nonce": "1"}, "nonce and deadline have to be those"),
        ({"deadline": "1"}, "nonce and deadline have to be those"),
        ({"signature": "0x" + WRONG.hex()}, "is not that of"),
        ({"signature": "0x12"}, "hexadecimal digits"),
        ({"signature": "zz" * 65}, "hexadecimal digits"),
    ],
)
def test_what_is_not_signed_as_it_was_offered_is_refused(permits: Permits, change: dict[str, str], told: str) -> None:
    intent = permits.offer().intent
    sent = replace(permits.sign(intent), **change)
    with pytest.raises(BadRequest, match=told):
        flows.accept(permits.services, permits.owner, intent.intent_id, sent, None)
    assert permits.load(intent).stage is Stage.OFFERED and not permits.loaded().is_executed


def test_the_same_signature_is_accepted_again_and_another_one_is_not(permits: Permits) -> None:
    intent = permits.begun()
    assert permits.accept(intent) == permits.load(intent)
    permits.right.add(WRONG)
    with pytest.raises(Conflict, match="Another signature"):
        permits.accept(intent, WRONG)


def test_while_one_is_made_nothing_else_pays_the_request(permits: Permits) -> None:
    other = permits.offer().intent
    intent = permits.begun()
    with pytest.raises(RequestExecuted, match=intent.intent_id) as refused:
        permits.accept(other)
    assert error_body(refused.value)["execution"] == {"paymentIntentId": intent.intent_id, "status": "pending"}
    with pytest.raises(Locked):
        pay(permits, Owner("acct", None, None))
    viewer, owner = Viewer("acct", None), Owner("acct", None, None)
    name = permits.request.request_id
    assert requests.direct_route(permits.services, name, owner, viewer, PAYER, Part()) is None


def test_a_signature_that_comes_late_is_refused(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.world.advance(3600 - 100)
    with pytest.raises(BadRequest, match="has expired"):
        permits.accept(intent)


def test_one_that_is_unknown_or_of_another_account_is_not_found(permits: Permits) -> None:
    intent = permits.offer().intent
    for owner, name in ((Owner("other", None, None), intent.intent_id), (permits.owner, "01JNZYZPK7B4YBPD44TM72NDNJ")):
        with pytest.raises(NotFound, match="Payment intent data not found"):
            flows.accept(permits.services, owner, name, permits.sign(intent), None)
    permits.world.advance(3 * 86_400)
    with pytest.raises(NotFound):
        permits.accept(intent)


def test_a_request_that_is_paid_meanwhile_takes_no_signature(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.bridge.destination.pay(permits.loaded())
    permits.bridge.tick()
    with pytest.raises(Conflict, match="already been paid"):
        permits.accept(intent)


def test_of_a_request_that_is_paid_in_part_meanwhile_less_is_due(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.bridge.destination.pay(permits.loaded(), BaseUnits(1_000_000))
    permits.bridge.tick()
    with pytest.raises(Conflict, match="Less is due"):
        permits.accept(intent)


def test_an_offer_of_an_earlier_version_is_refused(permits: Permits) -> None:
    """It does not say for how much of the request's amount it is."""
    intent = permits.offer().intent
    item = item_of(intent, intent.key)
    earlier = decode(PaymentIntent, {name: item[name] for name in item if name not in ("owed", "rate")})
    permits.services.store.write(earlier)
    with pytest.raises(Conflict, match="get another payment intent"):
        permits.accept(intent)


def test_a_route_that_is_dearer_than_what_was_signed_is_refused(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.world.advance(120)

    def dearer(answer: dict[str, Any]) -> Any:
        wanted = permits.world.router.seen[-1]
        deposit = deposit_of(wanted, int(permits.world.now.timestamp()))
        return answer_of(replace(deposit, input_amount=intent.permit.most + 1), wanted)

    permits.world.router.change = dearer
    with pytest.raises(Conflict, match="costs more now"):
        permits.accept(intent)


def test_without_a_route_nothing_is_offered_or_accepted(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.world.router.trouble = RouterUnavailable("down")
    permits.world.advance(120)
    for act in (permits.offer, lambda: permits.accept(intent)):
        with pytest.raises(BadRequest, match="not available at the moment"):
            act()
    assert permits.load(intent).stage is Stage.OFFERED


def test_a_payer_with_too_little_is_told_so(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.balances[PAYER.lower()] = 12_000_000
    with pytest.raises(BadRequest, match="does not have enough USDC on base"):
        permits.accept(intent)


class OtherKeys(PlainSigningKeys):
    private_key = bytes.fromhex("22" * 32)


def test_a_signature_for_an_account_that_was_replaced_is_refused(permits: Permits) -> None:
    intent = permits.offer().intent
    permits.world.services = replace(permits.services, signing_keys=OtherKeys())
    with pytest.raises(Conflict, match="is not .* any more: get another payment intent"):
        permits.accept(intent)
    assert not permits.loaded().is_executed


def test_a_deployment_without_a_key_on_the_network_says_so() -> None:
    permits = Permits()
    without = replace(permits.services.settings, relayer_keys={})
    permits.world.services = replace(permits.services, settings=without)
    with pytest.raises(BadRequest, match="RELAYER_KEYS"):
        permits.offer()


@pytest.mark.parametrize("position", range(1, 9))
def test_of_two_at_once_one_is_accepted(permits: Permits, position: int) -> None:
    first, second = permits.offer().intent, permits.offer().intent
    services = permits.guarded(Interruption(position, lambda: permits.accept(second)))
    with suppress(Locked, WriteConflict):
        flows.accept(services, permits.owner, first.intent_id, permits.sign(first), None)
    stages = [permits.load(each).stage for each in (first, second)]
    assert Stage.TAKING in stages and stages.count(Stage.OFFERED) == 1
