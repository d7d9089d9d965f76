"""A request of each operation that succeeds: the example of the OpenAPI document, with what its tenant owns put in.

`EXAMPLES` has what depends on state (tokens, ids, signatures); everything else is the document's, as it stands there.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from chalicelib.accounts.email.records import Purpose as LinkPurpose
from chalicelib.accounts.email.rules import mark_of, permit
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import wallets
from chalicelib.base import ids
from chalicelib.base.addresses import evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.checkout import pay_one
from chalicelib.chains.calldata.tokens.erc2612 import TokenPermit
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.readings import Delegated
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.checkout.flows import signable_transactions
from chalicelib.commerce.core.records import OperationKind
from chalicelib.crosschain.service.payment_intents.rules import Wish, offer_intent
from chalicelib.crosschain.service.router import flows as router
from chalicelib.crosschain.service.router.rules import Purpose, Wanted
from chalicelib.gasless import rules as gasless_rules
from chalicelib.gasless.energy import rules as energy_rules
from chalicelib.gasless.energy import store as energy_store
from chalicelib.offramp.payers.records import Payer
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.archive import store as archive_store
from chalicelib.payments.archive.lines import pack_lines
from chalicelib.payments.archive.rules import prefix_of
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.rates.records import Rate, RateSource
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.flows import save_many
from chalicelib.payments.requests.plain_transfers.rules import with_address
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import Role as RelayerRole
from chalicelib.sandbox.opening import open_sandbox
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.deliveries.rules import deliveries_of
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.samples import sample_event
from chalicelib.webhooks.signature_keys import flows as signature_keys
from infra.documents.operations import examples
from infra.local.provider import ACCOUNT, sign_headers
from tests.fakes.payouts import store_payouts
from tests.fakes.recurring import signature_of
from tests.fakes.requests import standalone, store_request
from tests.fakes.safes import FakeSafes
from tests.fakes.tron import signed_call
from tests.fakes.wallets import tron_wallet
from tests.fakes.world import PAYEE, WALLET, draft
from tests.support.client import Api, Reply
from tests.support.commerce import AMOUNT, CAPTURED, commerce_payment, executing, expired, with_events
from tests.support.made import made_with
from tests.support.running import run_on, running
from tests.support.stored_links import counted
from tests.support.stored_transfers import store_payment, store_payment_of
from tests.support.tenants import WAYS, Headers, Tenant, Way

PROVIDER_USER = {"sequence": 2, "kycStatus": "approved", "agreementStatus": "pending"}
USDC_BASE, USDC_MAINNET = token_with_id("USDC-base"), token_with_id("USDC-mainnet")
assert USDC_BASE is not None and USDC_MAINNET is not None
Make = Callable[[Tenant, Way], Any]


@dataclass(frozen=True)
class Example:
    """What of an example depends on state: it replaces those of the document's values that it names."""

    path: dict[str, Make]
    query: Make | None = None
    body: Make | None = None
    before: Make | None = None
    others: tuple[int, ...] = ()
    """The statuses when it is another tenant's; empty where nothing in it belongs to anybody."""
    signs: Callable[[bytes, int], Headers] | None = None
    """Makes the headers that sign a body at a time, in seconds."""
    wallet_only: bool = False
    """True if a session by e-mail may not call it."""
    secret_only: str = ""
    """Words of the refusal if a client id alone, which is public, may not call it, or not about this."""


def example(
    path: dict[str, Make] | None = None, others: tuple[int, ...] | None = None, **facts: Any
) -> Example:
    return Example(path or {}, others=others if others is not None else ((404,) if path else ()), **facts)


def of_owner(make: Callable[[Tenant], Any]) -> Make:
    return lambda owner, way: make(owner)


def archived_request(owner: Tenant, way: Way) -> None:
    """In the month of the example, whenever that is run."""
    found = archive_store.whole(running().store, paid_payable(owner, way))
    assert found is not None
    name = f"{prefix_of(owner.account_id, '2025-10')}20261105T083000-{found.payable_id}.jsonl.gz"
    running().archive.put(name, pack_lines([found]))


def paid_payable(owner: Tenant, way: Way) -> str:
    """The payable of a paid request."""
    found = request_store.payable_id(running().store, paid_request(owner, way))
    assert found is not None
    return found


def a_webhook(owner: Tenant, way: Way) -> str:
    """Webhooks of a client id are its own; a key or a session alone means those of the account."""
    return owner.webhook_of_client() if Mode.CLIENT_ID in way.serves else owner.webhook_of_account()


def signature_key(owner: Tenant, way: Way) -> None:
    signature_keys.ensure_key(running())


def a_failed_delivery(owner: Tenant, way: Way) -> Delivery:
    """The same one each time that it is asked for."""
    if owner.failed is None:
        client_id = owner.client_id if Mode.CLIENT_ID in way.serves else None
        owner.failed = owner.failed_delivery(a_webhook(owner, way), client_id)
    return owner.failed


def a_delivered_event(owner: Tenant, way: Way) -> str:
    """An event with a delivery to a webhook of the account."""
    services = running()
    endpoint = endpoints.own_endpoint(services, owner.account_id, None, owner.webhook_of_account(), only_public=False)
    event = sample_event("payment.confirmed", owner.account_id, None, event_context(services))
    (delivery,) = deliveries_of(event, [endpoint], services.clock())
    services.store.write(event, *delivery_store.creation([delivery]))
    return event.event_id


def a_link(owner: Tenant, way: Way) -> dict[str, Any]:
    """A platform's link goes where the client id is bound to."""
    return {"requests": [{"amount": "12.50"}]} if Mode.ORCHESTRATOR in way.serves else {}


def a_request(owner: Tenant, way: Way) -> dict[str, Any]:
    """A platform's request goes where the client id is bound to."""
    return {"payee": None} if Mode.ORCHESTRATOR in way.serves else {}


def a_commerce_payment(owner: Tenant, way: Way) -> dict[str, Any]:
    """A platform's payment goes where the client id is bound to."""
    return {"merchantAddress": owner.wallet.address} if Mode.ORCHESTRATOR in way.serves else {}


def payout_tokens(owner: Tenant, way: Way | None = None) -> list[str]:
    """Payouts that whoever calls by this way has created, or else the account."""
    is_public = way is not None and Mode.CLIENT_ID in way.serves
    own = {"client_id": owner.client_id, "created_with": Mode.CLIENT_ID} if is_public else {}
    return [made.link.token for made in store_payouts(running(), owner.account_id, 2, **own)]


def multicall_token(owner: Tenant) -> str:
    account = Owner(owner.account_id, None, None)
    return multicalls.create(running(), account, payout_tokens(owner), None).payable.link.token


def signed(action: Action) -> Make:
    return lambda owner, way: dict(zip(("nonce", "signature"), owner.signed(action), strict=True))


def a_change(owner: Tenant, way: Way) -> None:
    owner.waiting_change()


def an_own_change(owner: Tenant, way: Way) -> str:
    """A change that the person asked for who is signed in last."""
    return owner.waiting_change(owner.opened.person_id)


def sandboxed_token(owner: Tenant, way: Way) -> str:
    """A link in the sandbox of the account."""
    inside = open_sandbox(running(), owner.account_id)
    client_id = owner.by_test_client()["x-client-id"] if Mode.CLIENT_ID in way.serves else None
    return links.create(inside, Owner(owner.account_id, client_id, None, is_test=True), draft()).link.token


WEBHOOK = {"webhook_id": a_webhook}
MEMBER = {"person_id": of_owner(Tenant.colleague)}
KEY, CLIENT = {"key_id": of_owner(Tenant.key_id)}, {"id": of_owner(Tenant.client_record_id)}
CHANGE = {"change_id": of_owner(Tenant.waiting_change)}
TOKEN = {"token": of_owner(Tenant.link_token)}
PAYER = {"client_user_id": of_owner(Tenant.payer)}
REQUEST = {"request_id": of_owner(Tenant.recurring_id)}
ACTIVE_PAYOUT = {"recurring_id": lambda owner, way: owner.payout(is_active=True)}
UNPAID = {"request_id": lambda owner, way: store_request(running(), owner.account_id).request_id}


def registered(owner: Tenant, way: Way) -> None:
    sign_in_flows.register(running(), "ann@shop.example", "correct horse", owner.actor)


def stored_token(purpose: LinkPurpose) -> str:
    """The token of a link to an address that is registered for it: a new one each time."""
    text = ids.session_token(running().entropy)
    name = f"{text[:20].lower()}@shop.example"
    person = sign_in_flows.register(running(), name, "correct horse", Actor("", "anonymous", "", ""))
    mark = mark_of(person.password_hash)
    permitted = replace(permit(purpose, name, running().clock()), person_id=person.person_id, password_mark=mark)
    running().store.write(replace(permitted, token_hash=credential_hash(text)))
    return text


def answered(owner: Tenant, way: Way) -> dict[str, str]:
    asked = wallets.create_challenge(running(), owner.wallet.address, 1)
    signature = owner.wallet.sign(asked.message)
    return {
        "challengeId": asked.challenge_id,
        "nonce": asked.nonce,
        "message": asked.message,
        "signature": signature,
    }


def scanned(owner: Tenant, way: Way) -> None:
    """Detection has begun on sepolia, so that multisig transactions can be followed there."""
    if running().store.get(Cursor, Cursor.KEY.of(network="sepolia")) is None:
        running().store.write(Cursor("sepolia", 100, (), 2000))


def waiting_token(owner: Tenant, way: Way) -> str:
    token = owner.link_token()
    scanned(owner, way)
    draft = Announcement(None, "0x" + "ab" * 32, None, "SEPOLIA", "USDC", None)
    announcements.record(running(), token, Viewer(owner.account_id, None), draft)
    return token


def linked_once(owner: Tenant, way: Way) -> None:
    """Links the client id to the orchestrator, unless calling as the pair has done so."""
    if owner.client.orchestrator_id is None:
        owner.linked()


def bound_once(owner: Tenant, way: Way) -> None:
    if not owner.is_bound:
        owner.bound()


def paid_token(owner: Tenant, way: Way) -> str:
    token = owner.link_token()
    store_payment(token, 12_500_000)
    return token


def plain_request(owner: Tenant, way: Way) -> str:
    """A request with an address for plain transfers."""
    services = running()
    request = with_address(standalone(services, owner.account_id), Fee(), (), {})
    save_many(services, [request])
    return request.request_id


def settled_request(owner: Tenant, way: Way) -> str:
    """As recording leaves it: with its payment and its totals."""
    request = request_store.request(running().store, owner.recurring_id())
    assert request is not None
    tx_hash = store_payment_of(request, request.amount).tx_hash
    before = request_store.request(running().store, request.request_id)
    assert before is not None
    paid = replace(before, paid=request.amount, status=RequestStatus.PAID, payment_count=1, tx_hash=tx_hash)
    running().store.write(*counted(before, paid))
    return request.request_id


def partly_paid_request(owner: Tenant, way: Way) -> str:
    part = {"paid": BaseUnits(4_000_000), "received": BaseUnits(4_000_000), "status": RequestStatus.PARTIALLY_PAID}
    return store_request(running(), owner.account_id, **part, tx_hash="0x" + "ab" * 32).request_id


def a_safe(owner: Tenant, way: Way) -> None:
    """The Safe of the example, at a Safe Transaction Service."""
    asked = examples("chalicelib.checkout")["propose_to_safe"]["body"]
    safes = FakeSafes()
    safes.safes[asked["network"], asked["safe"]] = ((asked["owner"],), 7)
    run_on(replace(running(), safes=safes))


def paid_request(owner: Tenant, way: Way) -> str:
    paid = {"paid": 12_500_000, "received": 12_500_000, "status": RequestStatus.PAID, "payment_count": 1}
    request = store_request(running(), owner.account_id, client_id=owner.client_id, **paid)
    store_payment_of(request, 12_500_000)
    return request.request_id


def has_payment(owner: Tenant, way: Way) -> None:
    request = store_request(running(), owner.account_id)
    store_payment_of(replace(request, client_id=owner.client_id), 12_500_000)


def has_valued_payment(owner: Tenant, way: Way) -> None:
    """A payment to the wallet of the example, with the rate of its time."""
    request = replace(store_request(running(), owner.account_id), payee=PAYEE, client_id=owner.client_id)
    payment = store_payment_of(request, 12_500_000)
    rate = Rate("USD", payment.currency, BaseUnits(1), BaseUnits(1), RateSource.CHAINLINK, payment.at)
    running().store.write(replace(payment, dollar_rate=rate, version=1))


def has_event(owner: Tenant, way: Way) -> None:
    services = running()
    body = '{"event":"payment.confirmed","requestId":"01"}'
    event_id = ids.ulid(services.clock(), services.entropy)
    services.store.write(Event(event_id, "payment.confirmed", owner.account_id, None, body, services.clock(), True))


def an_event(owner: Tenant, way: Way) -> dict[str, Any]:
    """What the provider tells of the tenant's payer."""
    owner.payer()
    (user,) = [each for each in running().store.scan([Payer]) if each[0].account_id == owner.account_id]  # type: ignore[attr-defined]
    return {"account": ACCOUNT, "data": {**PROVIDER_USER, "id": user[0].user_id}}  # type: ignore[attr-defined]


def own_step(owner: Tenant, way: Way) -> dict[str, Any]:
    """The step by which a wallet on mainnet pays the tenant's link on base."""
    action = {"toChainId": 8453, "toAddress": "0x1892196E80C4c17ea5100Da765Ab48c1fE2Fb814"}
    name = f"{owner.bridged_token()}:ETHEREUM:USDC:{WALLET}"
    return {"step": {"id": name, "type": "lifi", "tool": "across", "action": action}}


def tron_signed(owner: Tenant, way: Way) -> dict[str, Any]:
    wallet, viewer = tron_wallet(owner.name), Viewer(owner.account_id, None)
    payment = signable_transactions(running(), owner.tron_token(), viewer, wallet.address)[-1]
    return {"signedTransaction": signed_call(wallet, payment.to, payment.data)}


def with_energy(owner: Tenant, way: Way) -> dict[str, Any]:
    """A wallet that has energy for the link of the example already."""
    services, wallet = running(), tron_wallet(owner.name).address
    link, now = owner.tron_token(), services.clock()
    wish = energy_rules.Wish(wallet, owner.account_id, link, 142_000, 886)
    amounts = Delegated(1_800_000_000_000, BaseUnits(14_200_000_000), BaseUnits(591_000_000))
    known = energy_store.delegation(services.store, wallet)
    services.store.write(energy_rules.begin(wish, wallet, amounts, (), known, now))
    return {"wallet": wallet}


def offered_intent(owner: Tenant, way: Way) -> str:
    """A payment intent for a request in USDC on base, to be paid from mainnet; the same one for its path and body."""
    services, token = running(), USDC_BASE
    if services.store.get(Cursor, Cursor.KEY.of(network="base")) is None:
        services.store.write(Cursor("base", 100, (), 2000))
    request = store_request(services, owner.account_id, currency=token.id)
    position = direct(Owed(request, request.amount, Fee()))
    call = pay_one(position.due).payments[0]
    wanted = Wanted(USDC_MAINNET, token, WALLET, WALLET, call, request.amount)
    route = router.quote(services, wanted, Purpose(owner.account_id, request.request_id))
    wish = Wish(position, None, route, relayer_flows.account_address(services, "mainnet"))
    made = offer_intent(wish, services.clock(), services.entropy)
    known = ("USD Coin", "2", 1, WALLET, WALLET, 1, made.permit.deadline)
    owner.offered = replace(made, token_permit=TokenPermit(USDC_MAINNET.address, *known))
    services.store.write(owner.offered)
    return owner.offered.intent_id


def signed_intent(owner: Tenant, way: Way) -> dict[str, Any]:
    offered_intent(owner, way)
    permit = owner.offered.permit
    signed = {"signature": "0x" + "11" * 64 + "1b", "nonce": str(permit.nonce), "deadline": str(permit.deadline)}
    return {"signedPaymentIntent": signed, "signedApprovalPermit": {**signed, "nonce": "1"}}


def offered_gasless(owner: Tenant, way: Way) -> str:
    """A gasless payment of a request in USDC on mainnet."""
    return offer_gasless(owner, store_request(running(), owner.account_id, currency=USDC_MAINNET.id))


def link_offered_gasless(owner: Tenant, way: Way) -> str:
    """The token of a link in USDC on mainnet, with a gasless payment of it."""
    made = links.create(running(), Owner(owner.account_id, None, None), draft(currency=USDC_MAINNET.id))
    offer_gasless(owner, made.requests[0])
    return made.link.token


def offer_gasless(owner: Tenant, request: Request) -> str:
    """The id of a gasless payment of a request, by a wallet of its own."""
    services, payer = running(), evm_address("0x" + keccak256(request.request_id.encode())[-20:].hex())
    position = direct(Owed(request, request.amount, Fee()))
    sender = relayer_flows.account_address(services, "mainnet", RelayerRole.GASLESS)
    domain = TokenDomain(USDC_MAINNET.address, "USD Coin", "2", USDC_MAINNET.chain_id)
    price = gasless_rules.Price(BaseUnits(120_000), BaseUnits(10**9))
    payment_id = gasless_rules.offer_id(position, None, payer, sender, services.clock())
    wish = gasless_rules.Wish(payment_id, position, None, payer, sender, domain, price)
    owner.gasless = gasless_rules.offer_payment(wish, services.clock())
    services.store.write(owner.gasless)
    return owner.gasless.payment_id


GASLESS_LINK = {"token": link_offered_gasless, "payment_id": of_owner(lambda owner: owner.gasless.payment_id)}
COMMERCE = "/v2/commerce-payments/{request_id}"


def of_payment(make: Callable[[str], str], **facts: Any) -> Example:
    """An example about a commerce payment; `make` stores one of an account, and returns its request id."""
    return example({"request_id": lambda owner, way: make(owner.account_id)}, **facts)


def of_capture(kind: OperationKind, amount: int, **changes: Any) -> Example:
    """An example that captures, with a fee unless a session asks, which names none."""

    def request_id(owner: Tenant, way: Way) -> str:
        return executing(owner.account_id, kind, amount, has_fee=Mode.SESSION not in way.serves, **changes)

    def body(owner: Tenant, way: Way) -> dict[str, Any]:
        return {"feeBps": None, "feeReceiver": None} if Mode.SESSION in way.serves else {}

    return example({"request_id": request_id}, body=body, secret_only="Send feeBps", others=(404, 403))


EXAMPLES: dict[tuple[str, str], Example] = {
    ("GET", "/v2/health"): example(),
    ("GET", "/v2/status"): example(before=scanned),
    ("GET", "/v1/health"): example(),
    ("GET", "/.well-known/jwks.json"): example(before=signature_key),
    ("GET", "/openapi.json"): example(),
    ("GET", "/openapi-3.0.json"): example(),
    ("GET", "/v2/currencies"): example(),
    ("GET", "/v2/currencies/{currency_id}/conversion-routes"): example(),
    ("POST", "/v2/request"): example(body=a_request),
    ("GET", "/v2/request/{request_id}"): example({"request_id": settled_request}),
    ("GET", "/v2/request/{request_id}/status"): example({"request_id": settled_request}),
    ("GET", "/v2/request/{request_id}/receipt"): example({"request_id": settled_request}),
    ("PATCH", "/v2/request/{request_id}"): example(REQUEST),
    ("POST", "/v2/request/{request_id}/cancel"): example(UNPAID),
    ("POST", "/v2/request/{request_id}/accept"): example({"request_id": partly_paid_request}),
    ("POST", "/v2/secure-payments"): example(body=a_link),
    ("POST", "/v2/secure-payments/preview"): example(body=a_link),
    ("PATCH", "/v2/secure-payments/{token}"): example(TOKEN),
    ("POST", "/v2/secure-payments/{token}/cancel"): example(TOKEN),
    ("GET", "/v2/secure-payments"): example(
        query=lambda owner, way: {"requestId": owner.request_id()}, others=(404,), secret_only="A client ID is public"
    ),
    ("POST", "/v2/secure-payments/payouts"): example(
        body=lambda owner, way: {"creatorWalletAddress": owner.wallet.address}
    ),
    ("POST", "/v2/secure-payments/payouts/batch"): example(
        body=lambda owner, way: {"creatorWalletAddress": owner.wallet.address}
    ),
    ("POST", "/v2/secure-payments/batch-payouts"): example(
        body=lambda owner, way: {"tokens": payout_tokens(owner, way)}, others=(400,)
    ),
    ("POST", "/v2/secure-payments/fees/preview"): example(),
    ("GET", "/v2/secure-payments/{token}"): example(TOKEN),
    ("GET", "/v2/secure-payments/{token}/pay"): example(TOKEN),
    ("GET", "/v2/secure-payments/{token}/reclaim"): example(
        {"token": lambda owner, way: expired(owner.account_id).payable_id}, query=lambda owner, way: {"wallet": WALLET}
    ),
    ("GET", "/v2/secure-payments/{token}/transfers"): example({"token": paid_token}),
    ("GET", "/v2/request/{request_id}/pay"): example(UNPAID),
    ("GET", "/v2/request/{request_id}/routes"): example(UNPAID),
    ("GET", "/v2/request/{request_id}/plain-transfer"): example({"request_id": plain_request}),
    ("POST", "/v2/payouts"): example(),
    ("POST", "/v2/pay"): example(),
    ("POST", "/v2/payouts/batch"): example(),
    ("POST", "/v2/payouts/recurring/{recurring_id}"): example(
        {"recurring_id": lambda owner, way: owner.recurring.recurring_id},
        body=lambda owner, way: {"permitSignature": signature_of(owner.recurring)},
        before=lambda owner, way: owner.payout(is_active=False),
    ),
    ("GET", "/v2/payouts/recurring"): example(before=lambda owner, way: owner.payout(is_active=True)),
    ("GET", "/v2/payouts/recurring/{recurring_id}"): example(ACTIVE_PAYOUT),
    ("GET", "/v2/payouts/recurring/{recurring_id}/permit"): example(
        {"recurring_id": lambda owner, way: owner.recurring.recurring_id},
        before=lambda owner, way: owner.payout(is_active=False),
    ),
    ("PATCH", "/v2/payouts/recurring/{recurring_id}"): example(ACTIVE_PAYOUT),
    ("POST", "/v2/commerce-payments/authorize/calldata"): example(body=a_commerce_payment),
    ("POST", f"{COMMERCE}/authorize"): example({
        "request_id": lambda owner, way: executing(
            owner.account_id, OperationKind.AUTHORIZE, AMOUNT, client_id=owner.client_id, created_with=Mode.CLIENT_ID
        )
    }),
    ("POST", f"{COMMERCE}/authorize/calldata"): of_payment(lambda name: commerce_payment(name).request_id),
    ("POST", f"{COMMERCE}/charge"): of_capture(OperationKind.CHARGE, AMOUNT),
    ("POST", f"{COMMERCE}/charge/calldata"): of_payment(lambda name: commerce_payment(name).request_id),
    ("POST", f"{COMMERCE}/capture"): of_capture(OperationKind.CAPTURE, 60_000_000, authorized=AMOUNT),
    ("POST", f"{COMMERCE}/capture/calldata"): of_payment(
        lambda name: commerce_payment(name, authorized=AMOUNT).request_id
    ),
    ("POST", f"{COMMERCE}/void"): of_payment(
        lambda name: executing(name, OperationKind.VOID, AMOUNT, authorized=AMOUNT),
        secret_only="A secret of the account has made this", others=(404, 403)
    ),
    ("POST", f"{COMMERCE}/void/calldata"): of_payment(
        lambda name: commerce_payment(name, authorized=AMOUNT).request_id
    ),
    ("POST", f"{COMMERCE}/refund"): of_payment(
        lambda name: executing(name, OperationKind.REFUND, 10_000_000, **CAPTURED),
        secret_only="A secret of the account has made this", others=(404, 403)
    ),
    ("POST", f"{COMMERCE}/refund/calldata"): of_payment(lambda name: commerce_payment(name, **CAPTURED).request_id),
    ("POST", f"{COMMERCE}/reclaim/calldata"): of_payment(lambda name: expired(name).request_id),
    ("GET", f"{COMMERCE}/status"): of_payment(with_events),
    ("GET", "/v2/request"): example(before=paid_request),
    ("GET", "/v2/archive/requests"): example(before=archived_request),
    ("POST", "/v2/request/payment-intents/{intent_id}"): example(
        {"intent_id": lambda owner, way: owner.offered.intent_id}, body=signed_intent
    ),
    ("DELETE", "/v2/request/payment-intents/{intent_id}"): example({"intent_id": offered_intent}),
    ("POST", "/v2/gasless-payments/{payment_id}"): example({"payment_id": offered_gasless}),
    ("GET", "/v2/gasless-payments/{payment_id}"): example({"payment_id": offered_gasless}),
    ("POST", "/v2/secure-payments/{token}/gasless/{payment_id}"): example(GASLESS_LINK),
    ("GET", "/v2/secure-payments/{token}/gasless/{payment_id}"): example(GASLESS_LINK),
    ("GET", "/v2/payments"): example(before=has_payment),
    ("GET", "/v2/journal"): example(before=has_payment),
    ("GET", "/v2/journal/wallet"): example(before=has_valued_payment),
    ("GET", "/v2/request/{request_id}/transfers"): example({"request_id": paid_request}),
    ("POST", "/v2/request/{request_id}/refund"): example({"request_id": paid_request}),
    ("POST", "/v2/safe-proposals"): example(before=a_safe),
    ("POST", "/v2/secure-payments/{token}/intent"): example(TOKEN, before=scanned),
    ("DELETE", "/v2/secure-payments/{token}/intent"): example({"token": waiting_token}),
    ("POST", "/v2/secure-payments/{token}/signing"): example(TOKEN),
    ("DELETE", "/v2/secure-payments/{token}/signing"): example(TOKEN),
    ("POST", "/v2/secure-payments/{token}/refresh-step-transaction"): example(
        {"token": of_owner(Tenant.bridged_token)}, body=own_step
    ),
    ("POST", "/v2/secure-payments/{token}/tron/broadcast"): example(
        {"token": of_owner(Tenant.tron_token)}, body=tron_signed
    ),
    ("POST", "/v2/secure-payments/{token}/tron/energy"): example(
        {"token": of_owner(Tenant.tron_token)}, body=with_energy
    ),
    ("POST", "/v2/secure-payments/multicall-payouts"): example(
        body=lambda owner, way: {"childTokens": payout_tokens(owner, way)}, others=(400,)
    ),
    ("GET", "/v2/secure-payments/multicall-payouts/{token}"): example(
        {"token": of_owner(multicall_token)}, others=(403,)
    ),
    ("POST", "/v1/webhook"): example(),
    ("GET", "/v1/webhook"): example(before=a_webhook),
    ("PUT", "/v1/webhook/{webhook_id}"): example(WEBHOOK),
    ("POST", "/v1/webhook/{webhook_id}/secret"): example(WEBHOOK),
    ("DELETE", "/v1/webhook/{webhook_id}"): example(WEBHOOK),
    ("GET", "/v1/webhook/events"): example(before=has_event),
    ("GET", "/v2/events"): example(before=has_event),
    ("GET", "/v1/webhook/events/{event_id}/deliveries"): example({"event_id": a_delivered_event}),
    ("GET", "/v1/webhook/{webhook_id}/deliveries"): example(
        {"webhook_id": lambda owner, way: a_failed_delivery(owner, way).webhook_id}
    ),
    ("POST", "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver"): example(
        {
            "webhook_id": lambda owner, way: a_failed_delivery(owner, way).webhook_id,
            "delivery_id": lambda owner, way: a_failed_delivery(owner, way).delivery_id,
        }
    ),
    ("POST", "/v1/webhook/{webhook_id}/redeliver"): example(WEBHOOK),
    ("POST", "/v1/webhook/test"): example(before=a_webhook),
    ("GET", "/v2/test"): example(before=sandboxed_token),
    ("POST", "/v2/test/pay"): example(body=lambda owner, way: {"token": sandboxed_token(owner, way)}, others=(404,)),
    ("POST", "/v2/test/pay/{token}"): example({"token": sandboxed_token}),
    ("POST", "/v2/test/blocks"): example(),
    ("POST", "/v2/test/reorganise"): example(),
    ("POST", "/v2/test/clock"): example(),
    ("POST", "/v1/auth/wallet/challenge"): example(),
    ("POST", "/v1/auth/wallet/verify"): example(body=answered),
    ("POST", "/v1/auth/register"): example(),
    ("GET", "/v1/auth/email"): example(),
    ("PUT", "/v1/auth/email"): example(),
    ("POST", "/v1/auth/email/confirmation"): example(),
    ("POST", "/v1/auth/email/confirm"): example(body=lambda owner, way: {"token": stored_token(LinkPurpose.CONFIRM)}),
    ("POST", "/v1/auth/password/forgot"): example(),
    ("POST", "/v1/auth/password/reset"): example(body=lambda owner, way: {"token": stored_token(LinkPurpose.RESET)}),
    ("GET", "/v1/notifications"): example(),
    ("PUT", "/v1/notifications"): example(),
    ("POST", "/v1/auth/login"): example(before=registered),
    ("POST", "/v1/auth/logout"): example(),
    ("GET", "/v1/auth/me"): example(),
    ("POST", "/v1/auth/switch"): example(body=lambda owner, way: {"accountId": owner.other_account(way)}),
    ("POST", "/v1/auth/identities/challenge"): example(),
    ("POST", "/v1/auth/identities"): example(body=lambda owner, way: owner.wallet_to_add()),
    ("DELETE", "/v1/auth/identities/{identity_id}"): example(
        {"identity_id": lambda owner, way: owner.spare_identity(way)}
    ),
    ("POST", "/v1/auth/proofs/password"): example(before=lambda owner, way: owner.with_password()),
    ("POST", "/v1/auth/proofs/wallet/challenge"): example(),
    ("POST", "/v1/auth/proofs/wallet"): example(body=lambda owner, way: owner.wallet_proof(way)),
    ("POST", "/v1/auth/passkey/options"): example(),
    ("POST", "/v1/auth/passkey"): example(body=lambda owner, way: {"credential": owner.passkey_sign_in()}),
    ("POST", "/v1/auth/proofs/passkey/options"): example(before=lambda owner, way: owner.passkey_id()),
    ("POST", "/v1/auth/proofs/passkey"): example(body=lambda owner, way: {"credential": owner.passkey_proof()}),
    ("POST", "/v1/passkeys/options"): example(),
    ("POST", "/v1/passkeys"): example(body=lambda owner, way: {"credential": owner.new_passkey()}),
    ("GET", "/v1/passkeys"): example(before=lambda owner, way: owner.passkey_id()),
    ("PUT", "/v1/passkeys/{passkey_id}"): example({"passkey_id": lambda owner, way: owner.passkey_id(way)}),
    ("DELETE", "/v1/passkeys/{passkey_id}"): example({"passkey_id": lambda owner, way: owner.passkey_id(way)}),
    ("GET", "/v1/account"): example(),
    ("PUT", "/v1/account"): example(),
    ("GET", "/v1/members"): example(),
    ("PUT", "/v1/members/{person_id}"): example(MEMBER),
    ("DELETE", "/v1/members/{person_id}"): example(MEMBER),
    ("DELETE", "/v1/members/{person_id}/sessions"): example(MEMBER),
    ("POST", "/v1/members/leave"): example(before=lambda owner, way: owner.colleague(Role.OWNER)),
    ("POST", "/v1/invitations"): example(),
    ("GET", "/v1/invitations"): example(before=lambda owner, way: owner.invitation("bob@shop.example")),
    ("DELETE", "/v1/invitations/{invitation_id}"): example(
        {"invitation_id": lambda owner, way: owner.invitation("bob@shop.example")[0].invitation_id}
    ),
    ("POST", "/v1/auth/invitations/look-up"): example(body=lambda owner, way: {"secret": owner.secret_for_new()}),
    ("POST", "/v1/auth/invitations/accept"): example(
        body=lambda owner, way: {"secret": Tenant().invitation(owner.name_of(way))[1]}
    ),
    ("POST", "/v1/auth/invitations/register"): example(body=lambda owner, way: {"secret": owner.secret_for_new()}),
    ("GET", "/v1/auth/sessions"): example(),
    ("DELETE", "/v1/auth/sessions/{session_id}"): example({"session_id": lambda owner, way: owner.session_id(way)}),
    ("GET", "/v1/changes"): example(before=a_change),
    ("GET", "/v1/changes/{change_id}"): example(CHANGE),
    ("POST", "/v1/changes/{change_id}/approve"): example(CHANGE),
    ("POST", "/v1/changes/{change_id}/refuse"): example(CHANGE),
    ("POST", "/v1/changes/{change_id}/withdraw"): example({"change_id": an_own_change}),
    ("GET", "/v1/audit"): example(before=a_webhook),
    ("POST", "/v1/api-keys"): example(),
    ("GET", "/v1/api-keys"): example(before=of_owner(Tenant.key_id)),
    ("GET", "/v1/api-keys/{key_id}"): example(KEY),
    ("PUT", "/v1/api-keys/{key_id}"): example(KEY),
    ("DELETE", "/v1/api-keys/{key_id}"): example(KEY),
    **{
        known: facts
        for host in ("/v1/client-ids", "/v2/client-ids")
        for known, facts in {
            ("POST", host): example(),
            ("GET", host): example(),
            ("GET", f"{host}/{{id}}"): example(CLIENT),
            ("PUT", f"{host}/{{id}}"): example(CLIENT),
            ("DELETE", f"{host}/{{id}}"): example(CLIENT),
            ("PUT", f"{host}/{{id}}/branding"): example(CLIENT),
            ("GET", f"{host}/{{id}}/branding"): example(CLIENT, before=of_owner(Tenant.branded)),
            ("DELETE", f"{host}/{{id}}/branding"): example(CLIENT),
            ("PUT", f"{host}/{{id}}/domain"): example(CLIENT),
            ("GET", f"{host}/{{id}}/domain"): example(CLIENT, before=of_owner(Tenant.named)),
            ("DELETE", f"{host}/{{id}}/domain"): example(CLIENT),
            ("POST", f"{host}/{{id}}/domain/check"): example(CLIENT, before=of_owner(Tenant.named)),
        }.items()
    },
    ("POST", "/v2/payer"): example(),
    ("GET", "/v2/payer/{client_user_id}"): example(PAYER, secret_only="A client ID is public, and an export"),
    ("PATCH", "/v2/payer/{client_user_id}"): example(PAYER),
    ("DELETE", "/v2/payer/{client_user_id}"): example({"client_user_id": of_owner(Tenant.payer_with_account)}),
    ("POST", "/v2/payer/{client_user_id}/payment-details"): example(PAYER),
    ("GET", "/v2/payer/{client_user_id}/payment-details"): example(
        {"client_user_id": of_owner(Tenant.payer_with_account)}
    ),
    ("POST", "/v2/provider-events"): example(body=an_event, signs=sign_headers),
    ("POST", "/v2/orchestrators"): example(),
    ("GET", "/v2/orchestrators"): example(before=of_owner(Tenant.registered)),
    ("DELETE", "/v2/orchestrators/{orchestrator_id}"): example({"orchestrator_id": of_owner(Tenant.registered)}),
    ("GET", "/v2/orchestrators/client-ids"): example(before=linked_once),
    ("POST", "/v2/orchestrators/client-ids"): example(
        body=lambda owner, way: {"clientId": owner.client_id}, others=(404,)
    ),
    ("DELETE", "/v2/orchestrators/client-ids/{client_id}"): example({"client_id": of_owner(Tenant.linked)}),
    ("GET", "/v2/payee-destination/signing-data"): example(
        query=lambda owner, way: {"walletAddress": owner.wallet.address}
    ),
    ("POST", "/v2/payee-destination"): example(body=signed(Action.ADD), others=(400,)),
    ("GET", "/v2/payee-destination"): example(
        query=lambda owner, way: {"walletAddress": owner.wallet.address}, before=bound_once
    ),
    ("GET", "/v2/payee-destination/{destination_id}"): example({"destination_id": of_owner(Tenant.bound)}),
    ("DELETE", "/v2/payee-destination/{destination_id}"): example(
        {"destination_id": of_owner(Tenant.bound)}, body=signed(Action.DEACTIVATE), others=(400,)
    ),
    ("POST", "/v1/payee-destination"): example(wallet_only=True),
    ("PUT", "/v1/payee-destination"): example(
        before=of_owner(Tenant.kept),
        others=(404,),
        wallet_only=True,
    ),
    ("GET", "/v1/payee-destination"): example(before=of_owner(Tenant.kept), wallet_only=True),
    ("GET", "/v1/payee-destination/lookup"): example(
        query=lambda owner, way: {"destinationId": owner.kept()}, others=(403,), wallet_only=True
    ),
    ("GET", "/v1/payee-destination/payout-lookup"): example(
        query=lambda owner, way: {"walletAddress": owner.wallet.address},
        before=of_owner(Tenant.kept),
        wallet_only=True,
    ),
    ("PATCH", "/v1/payee-destination/deactivate"): example(
        body=lambda owner, way: {"destinationId": owner.kept()}, others=(403,), wallet_only=True
    ),
}


def needs_client(known: Operation, way: Way) -> bool:
    """Whether an API key is taken only beside a client id: the operation is about that one."""
    return Mode.API_KEY in way.serves and known.path.startswith("/v2/payee-destination")


def is_of_tests(known: Operation) -> bool:
    """Whether the operation takes credentials for test mode alone."""
    return known.path.startswith("/v2/test")


def headers_for(known: Operation, tenant: Tenant, way: Way) -> Headers:
    if is_of_tests(known) and Mode.API_KEY in way.serves:
        return tenant.by_test_key()
    if is_of_tests(known) and Mode.CLIENT_ID in known.modes and Mode.CLIENT_ID in way.serves:
        return tenant.by_test_client()
    beside = {"x-client-id": tenant.client_id} if needs_client(known, way) else {}
    headers = {**way.headers(tenant), **beside}
    if known.signs_in:
        headers.pop("origin", None)  # the shop's page may not sign anybody in
    return headers


@dataclass(frozen=True)
class Prepared:
    """The example of an operation, to be sent with any headers. A refusal changes nothing, so it can be sent again."""

    known: Operation
    path: dict[str, Any]
    query: dict[str, Any]
    body: Any

    def send(self, api: Api, headers: Headers) -> Reply:
        path = self.known.path.format(**{name: quote(part, safe="") for name, part in self.path.items()})
        query = f"?{urlencode(self.query)}" if self.query else ""
        signs = EXAMPLES[self.known.method, self.known.path].signs
        if signs is None:
            return api.request(self.known.method, path + query, self.body, headers)
        raw = json.dumps(self.body).encode()
        return api.request(self.known.method, path + query, raw, {**headers, **signs(raw, int(time.time()))})


def prepared(known: Operation, owner: Tenant, way: Way, *, is_own: bool = True) -> Prepared:
    """The operation's example, about what `owner` has; for an orchestrator with `is_own` about what it has made."""
    key, shown = (known.method, known.path), documented(known)
    if key not in EXAMPLES:
        raise LookupError(f"{' '.join(key)} has no entry in EXAMPLES of tests/support/examples.py: say how it is called")
    facts = EXAMPLES[key]
    if facts.before:
        facts.before(owner, way)
    own_query = facts.query(owner, way) if facts.query else {}
    own_body = facts.body(owner, way) if facts.body else {}
    path = {name: make(owner, way) for name, make in facts.path.items()} or shown.get("path", {})
    if is_own and Mode.ORCHESTRATOR in way.serves and Mode.ORCHESTRATOR in known.modes:
        made_with(Mode.ORCHESTRATOR, owner.client_id)
    return Prepared(
        known,
        path=path,
        query={**shown.get("query", {}), **own_query},
        body={**shown.get("body", {}), **own_body} if "body" in shown or own_body else None,
    )


def documented(known: Operation) -> dict[str, Any]:
    """The example in the document: `path`, `query` and `body`."""
    return examples(OPERATIONS[known]).get(known.name, {})


def request(api: Api, known: Operation, headers: Headers, owner: Tenant, way: Way) -> Reply:
    return prepared(known, owner, way).send(api, headers)


def accepts(known: Operation, way: Way) -> bool:
    """A session is ambient, browsers send it to everything: where it means nothing it does not close what is public."""
    is_open = known.modes == (Mode.PUBLIC,) or (Mode.PUBLIC in known.modes and Mode.SESSION in way.serves)
    return is_open or any(mode in known.modes for mode in way.serves)


def is_barred(known: Operation, way: Way) -> bool:
    """Whether the operation refuses this way with 403, although it accepts its mode."""
    return bar_of(known, way) is not None


def bar_of(known: Operation, way: Way) -> str | None:
    """How the refusal begins: the operation is for sessions of wallets, or for secret credentials, or a password is no
    proof for it; None if it is not refused."""
    facts = EXAMPLES[known.method, known.path]
    if facts.wallet_only and way.name == "e-mail session":
        return "wallet session required"
    if known.name == "remove_passkey" and way.name == "e-mail session":
        return "This needs a proof of your presence"  # of the passkey that is there to be removed
    is_pair = way.name == "orchestrator pair" and Mode.ORCHESTRATOR not in known.modes  # it counts as a client id there
    return facts.secret_only if facts.secret_only and (way.name == "client id" or is_pair) else None


def accepted_ways(known: Operation) -> list[Way]:
    return [way for way in WAYS if accepts(known, way)]
