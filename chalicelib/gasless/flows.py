"""Offers gasless payments to be signed, and accepts the signatures.

A request without a link is asked for by its account or a client id of it. A link is asked for by whoever has its token,
as the payment page, so that one that a client id alone has created needs the word of that client id's owner.
"""

import re
from dataclasses import replace

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.base.signatures import SIGNATURE_BYTES, with_large_v
from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.chains.nodes.agreement import combine_answers, read_agreed_code
from chalicelib.crosschain.service.payment_intents.locks import unlock_request
from chalicelib.crosschain.service.payment_intents.rules import check_not_repeated
from chalicelib.gasless import rules, store
from chalicelib.gasless.delegation import is_delegated
from chalicelib.gasless.records import GaslessPayment, LastSigned, Stage
from chalicelib.gasless.rules import Price, Wish
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.flows import require_payable
from chalicelib.payments.links.reading import Viewer, load_stored
from chalicelib.payments.links.records import Payable, PayableLink
from chalicelib.payments.payable.rules import Position, amounts_owed, direct
from chalicelib.payments.rates import flows as rates
from chalicelib.payments.rates.rules import to_pay
from chalicelib.payments.requests import executions
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.rules import remaining
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.delays import check_not_delayed
from chalicelib.relayer.keys.signer import gasless_accounts
from chalicelib.relayer.records import Role
from chalicelib.relayer.rules import Call, signature_gas

_SIGNATURE = re.compile(f"(?:0x)?((?:[0-9a-fA-F]{{2}}){{{SIGNATURE_BYTES},{rules.LONGEST_SIGNATURE}}})")
_TAKE_GAS = 200_000
"""Of the transfer that the payer signs, without what a contract wallet needs to check the signature."""


def offer(services: Services, owner: Owner, position: Position, wallet: str | None) -> GaslessPayment:
    """Offers the payment of what is due of a request to be signed: for two minutes the same one again, for which it is
    only read. Else up to three calls to each node, a rate, and one write.

    Raises BadRequest with what to change, also if the deployment or the token cannot make it, RateUnavailable,
    ChainUnavailable, and WriteConflict after five conflicts.
    """
    request = position.owed.request
    if request.link_token is not None:
        raise BadRequest(
            "A request of a link is paid without gas as the link: GET /v2/secure-payments/{token}/pay with gasless=true"
        )
    check_kind(Payable((request,)))
    return _offer(services, owner.client_id, position, rules.check_payer(wallet))


def offer_for_link(services: Services, viewer: Viewer, payable: PayableLink, wallet: str | None) -> GaslessPayment:
    """Offers the payment of what is left of a link that can be paid now, as `offer`; one read more if a client id alone
    has created the link. Raises as `offer`, Forbidden as `_check_executes`, and Conflict if too many payments of it
    were signed and not made."""
    check_kind(payable)
    payer = rules.check_payer(wallet)
    _check_executes(services, viewer, payable)
    (owed,) = amounts_owed((payable,))
    check_not_repeated(owed.request.execution, viewer.is_public)
    return _offer(services, payable.link.client_id, direct(owed), payer)


def is_offered(services: Services, viewer: Viewer, payable: PayableLink) -> bool:
    """Whether a link that can be paid now may be offered without gas: only its token and its price are not known. No
    call to a node; one read if a client id alone has created the link."""
    if rules.why_refused(payable) is not None:
        return False
    request = payable.requests[0]
    if not relayer_flows.can_submit(services, request.network, Role.GASLESS):
        return False
    try:
        check_not_repeated(request.execution, viewer.is_public)
        _check_executes(services, viewer, payable)
    except (Conflict, Forbidden):
        return False
    return True


def check_kind(payable: Payable) -> None:
    """Raises BadRequest for what is not paid without gas, whoever pays it."""
    reason = rules.why_refused(payable)
    if reason is not None:
        raise BadRequest(reason)


def _check_executes(services: Services, viewer: Viewer, payable: PayableLink) -> None:
    """Raises Forbidden for a link that a client id alone has created, which anybody can do, unless a secret of the
    account asks or the owner of the client id lets it have transactions sent. One read at most."""
    if not viewer.is_public or payable.created_with is not Mode.CLIENT_ID:
        return
    client_id = payable.link.client_id or ""
    client = credential_store.client_id_of(services.store, credential_hash(client_id))
    if client is None or client.status is not CredentialStatus.ACTIVE or not client.may_execute:
        raise Forbidden(
            "This link was created with a client ID alone, which has no transactions sent by the service: pay it with "
            "transactions. The owner can allow it by mayExecute of PUT /v2/client-ids/{id}"
        )


@retry_conflicts(5)  # the same may be offered twice at the same time
def _offer(services: Services, client_id: str | None, position: Position, payer: str) -> GaslessPayment:
    token = position.due.token
    network = token.network
    sender, chain = _sender_on(services, network), services.chains.evm(network)
    payment_id = rules.offer_id(position, client_id, payer, sender, services.clock())
    known = store.payment(services.store, payment_id)
    if known is not None:
        return known
    is_delegated(services, network, sender)
    answers = chain.read_transfer_answers(token.address, payer, "0x" + bytes(32).hex())
    domain = erc3009.domain(answers, token.address, token.chain_id)
    if domain is None:
        raise BadRequest(f"{token.symbol} on {network} has no transfers that are signed: pay it with transactions")
    wish = Wish(payment_id, position, client_id, payer, sender, domain, _price(services, position, sender))
    made = rules.offer_payment(wish, services.clock())
    services.store.write(made)
    return made


def _sender_on(services: Services, network: str) -> str:
    """The account that makes the payments of a network. Raises NoRelayer, and BadRequest if the operator names another
    one, by which the payment page would refuse what is signed."""
    sender, named = relayer_flows.account_address(services, network, Role.GASLESS), gasless_accounts(services)[network]
    if named and not same_address(named, sender):
        raise BadRequest(
            f"No gasless payments are made on {network}: its operator has to correct the account in gasless_networks"
        )
    return sender


def _price(services: Services, position: Position, sender: str) -> Price:
    """What the payment costs now, as the nodes agree. A request to each, and a rate."""
    token = position.due.token
    coin = require_token(require_network(token.network).native_currency_id or "")
    chain = services.chains.evm(token.network)
    costs = combine_answers(chain, lambda node: rules.gas_cost(node.read_account(sender)), tuple).value
    rate = rates.current(services, coin, token)
    prices = [
        rules.price_gas(token, to_pay(cost, rate, coin, token), gas_price, position.due.amount)
        for gas_price, cost in costs
    ]
    return rules.agree_on_price(token.network, prices)


@retry_conflicts(5)  # the same may be sent twice, or a payment be recorded meanwhile
def accept(services: Services, owner: Owner, payment_id: str, text: str) -> GaslessPayment:
    """Accepts the signature of a gasless payment: from then on it is made, and its request is locked.

    The same signature again is accepted again. Two to three calls to the node, five to seven reads, one write. Raises
    NotFound; BadRequest for a signature that the token does not take, or that comes too late; Conflict if another
    signature was accepted, too many payments of the request were signed and not made, it is paid, the service has
    another account, the payer's calls wait for a day, or another payment that they have signed on the network is made;
    Locked while another payment of the request is made; of a link what `require_payable` raises; WriteConflict after
    five conflicts.
    """
    signature, payment = _bytes_of(text), visible(services, owner, payment_id)
    return _accept(services, payment, signature, owner.mode is Mode.CLIENT_ID)


@retry_conflicts(5)
def accept_for_link(services: Services, token: str, viewer: Viewer, payment_id: str, text: str) -> GaslessPayment:
    """Accepts the signature of a gasless payment of a link from whoever has its token, as `accept`, whatever they claim
    to sign; one read more if a client id alone has created the link. Raises as `accept`, and Forbidden as
    `_check_executes`."""
    signature, payable = _bytes_of(text), _load_link(services, token, viewer)
    payment = _payment_of(services, payable, payment_id)
    if payment.stage is Stage.OFFERED:
        _check_executes(services, viewer, payable)
    return _accept(services, payment, signature, viewer.is_public, viewer.announcer)


def _accept(
    services: Services, payment: GaslessPayment, signature: bytes, is_public: bool, claimant: str | None = None
) -> GaslessPayment:
    """A link is written with its request: so an announced transaction, a claim to sign, a cancellation or the end of
    its time conflicts, and what comes second is decided again. So does another signature of the payer, whose last one
    is written as well."""
    if payment.stage is not Stage.OFFERED:
        return _require_same_signature(payment, signature)
    now, payment_id = services.clock(), payment.payment_id
    rules.check_signable(payment, now)
    stored = request_store.request(services.store, payment.request_id)
    if stored is None:
        raise NotFound("Request not found")
    payable = link_store.payable_link(services.store, stored.link_token) if stored.link_token is not None else None
    if payable is not None:
        require_payable(services, payable.without_claim_of(claimant))
        (request,) = payable.requests
    else:
        request = unlock_request(services, stored)
    rules.check_due(payment, request, remaining(request))
    check_not_repeated(request.execution, is_public)
    if relayer_flows.account_address(services, payment.network, Role.GASLESS) != payment.authorization.to:
        raise Conflict("The service has another account now: get another gasless payment from /pay, and sign that")
    check_not_delayed(services, payment.network, payment.payer)
    last = store.last_signed(services.store, payment.network, payment.payer)
    rules.check_last_ended(store.payment(services.store, last.payment_id) if last is not None else None)
    right, runs_code = _check_signature(services, payment, signature)
    made = rules.accept_payment(payment, right, runs_code, now)
    execution = executions.begin_execution(request.execution, payment.payment_id, is_public)
    links = (payable.link,) if payable is not None else ()
    signed = LastSigned(made.network, made.payer.lower(), payment_id, now, version=last.version if last else 0)
    services.store.write(made, signed, replace(request, execution=execution), *links)
    services.log.info("gasless payment accepted", extra={"payment_id": payment_id, "network": payment.network})
    return made


def visible(services: Services, owner: Owner, payment_id: str) -> GaslessPayment:
    """A gasless payment that the caller sees. One read. Raises NotFound."""
    payment = _find(services, payment_id)
    if payment is None or not sees(owner, payment):
        raise NotFound("Gasless payment not found")
    return payment


def visible_of_link(services: Services, token: str, viewer: Viewer, payment_id: str) -> GaslessPayment:
    """A gasless payment of a link, for whoever has its token. Two reads. Raises NotFound."""
    return _payment_of(services, _load_link(services, token, viewer), payment_id)


def _load_link(services: Services, token: str, viewer: Viewer) -> PayableLink:
    return load_stored(services, token, replace(viewer, announcer=None))


def _payment_of(services: Services, payable: PayableLink, payment_id: str) -> GaslessPayment:
    payment = _find(services, payment_id)
    if payment is None or payment.link_token != payable.link.token:
        raise NotFound("Gasless payment not found")
    return payment


def _find(services: Services, payment_id: str) -> GaslessPayment | None:
    payment = store.payment(services.store, payment_id)
    is_there = payment is not None and (payment.vanishes_at is None or payment.vanishes_at > services.clock())
    return payment if is_there else None


def _bytes_of(text: str) -> bytes:
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise BadRequest(
            f"signature: it has to be the hexadecimal digits of {SIGNATURE_BYTES} to {rules.LONGEST_SIGNATURE} bytes"
        )
    return bytes.fromhex(match[1])


def _require_same_signature(payment: GaslessPayment, signature: bytes) -> GaslessPayment:
    """The payment whose signature was accepted before. Raises Conflict."""
    known = bytes.fromhex((payment.signature or "0x")[2:])
    if known not in (signature, with_large_v(signature)):
        raise Conflict("Another signature of this gasless payment was accepted before")
    if payment.stage is Stage.FAILED:
        raise Conflict("This gasless payment has failed, and nothing was taken: get another one from /pay")
    return payment


def _check_signature(services: Services, payment: GaslessPayment, signature: bytes) -> tuple[bytes, bool]:
    """The signature in the form in which the token takes it now, which judges it itself, with the balance of the payer;
    and whether the payer's account has code. Raises BadRequest if it takes none, ChainUnavailable."""
    runs_code = read_agreed_code(services.chains.evm(payment.network), payment.payer).value
    gas, reason = _TAKE_GAS + (signature_gas(payment.network) if runs_code else 0), None
    for form in dict.fromkeys((signature, with_large_v(signature))):
        made = erc3009.receive(payment.authorization, form)
        call = Call(
            f"gasless/{payment.payment_id}", payment.network, made.to, made.data, gas_limit=gas,
            account_id=payment.account_id, runs_foreign_code=runs_code, role=Role.GASLESS,
        )
        judged = relayer_flows.try_call(services, payment.authorization.to, call)
        if judged.success:
            return form, runs_code
        reason = judged.reason
    raise BadRequest(f"signature: {require_token(payment.currency).symbol} does not accept it: {reason}")
