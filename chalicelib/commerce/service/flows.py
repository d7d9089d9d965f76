"""Creates commerce payments, and gives the transactions that their operators and payers send."""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.commerce.core.records import CommercePayment, EscrowEntry, OperationKind
from chalicelib.commerce.core.rules import CommerceStatus, Refusal, reserve
from chalicelib.commerce.service import operation_steps, rules, store
from chalicelib.commerce.service.creation import Conditions, Draft, Lifetimes, Place, create_payment, token_of
from chalicelib.commerce.service.payer_calls import PayerOptions, payer_options, reclaim_of
from chalicelib.commerce.service.reading import load, status_now
from chalicelib.commerce.service.transactions import contracts_of, contracts_on, operator_calls
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.permissions import check_link_limits
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests import permissions
from chalicelib.payments.requests.field_problems import refuse_field
from chalicelib.payments.requests.serving import check_served
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials.store import has_approvals
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.relayer import flows as relayer_flows


@frozen
class Created:
    """A new commerce payment with its link, and what its payer sends or signs; None while any wallet may pay."""

    link: PayableLink
    payment: CommercePayment
    options: PayerOptions | None


@frozen
class ToSend:
    """Transactions that `sender` has to send in this order."""

    payment: CommercePayment
    sender: str
    transactions: tuple[Transaction, ...]


@frozen
class Found:
    """A commerce payment with the escrow's events, and its status now."""

    payment: CommercePayment
    entries: tuple[EscrowEntry, ...]
    status: CommerceStatus


def create(services: Services, owner: Owner, draft: Draft) -> Created:
    """Creates a commerce payment with its request and link, in one transaction. One read if the client id is bound to
    a payee destination, one with a least fee for nobody, and with a buyer one call to the node.

    Raises BadRequest with what to change, Forbidden if the client id may not create it, ChainUnavailable.
    """
    token = token_of(draft)
    contracts = contracts_on(token.network, services.settings.escrow_contracts)
    bound = requests.bound_destination(services, owner)
    permissions.check_creator(owner, bound)
    draft, lifetimes = _with_defaults(services, owner, draft)
    conditions = Conditions(_place(services, owner, contracts), lifetimes, requests.terms_of(services), bound)
    link, payment = create_payment(draft, owner, token, conditions, services.clock(), services.entropy)
    check_served(services, (each.network for each in link.requests))
    check_link_limits(owner, (link,), bound)
    permissions.check_limits(owner, (), payment.fee_receiver, bound)
    if payment.min_fee_bps and payment.fee_receiver is None and has_approvals(services.store, payment.account_id):
        raise refuse_field(("feeReceiver",), "is missing: with approvals a fee goes to whom the payment names")
    buyer = payment.buyer
    if buyer is None:
        links.save(services, link, payment)
        return Created(link, payment, None)
    options = payer_options(services, payment, buyer)
    payment = replace(payment, payer=buyer, payment_hash=options.payment_hash)
    links.save(services, link, payment, operation_steps.reference_of(payment, buyer, options.payment_hash))
    return Created(link, payment, options)


def to_send(services: Services, owner: Owner, request_id: str, kind: OperationKind, asked: rules.Asked) -> ToSend:
    """What the operator sends for an operation, checked as if it were executed. One write at most: the entry that finds
    the payment of a wallet that has not paid yet. Raises NotFound, ValidationFailed, Conflict."""
    payment = load(services, owner, request_id)
    operation = rules.operation_of(payment, kind, asked, own_addresses(services))
    pending = reserve(payment, operation, services.clock())
    if isinstance(pending, Refusal):
        rules.raise_refusal(pending, kind)
    if references := operation_steps.references(services, payment, pending):
        try_write(services.store, *references)  # False: the same was asked for at the same time
    transactions = operator_calls(payment, pending, contracts_of(payment, services.settings.escrow_contracts))
    return ToSend(payment, payment.operator, transactions)


def reclaim(services: Services, owner: Owner, request_id: str) -> ToSend:
    """What the payer sends to take back what is held. Two reads. Raises NotFound, and as `reclaim_of`."""
    payment = load(services, owner, request_id)
    made = reclaim_of(services, payment)
    return ToSend(payment, made.payer, (made.transaction,))


def find(services: Services, owner: Owner, request_id: str) -> Found:
    """A commerce payment with its events. Three reads and a query. Raises NotFound."""
    payment = load(services, owner, request_id)
    return Found(payment, store.entries(services.store, payment.request_id), status_now(services, payment))


def _place(services: Services, owner: Owner, contracts: EscrowContracts) -> Place:
    """The escrow, and who operates it: the wallet of the client id, else the service's own account."""
    wallet = owner.settings.operator_wallet
    if wallet is not None:
        if not wallet.startswith("0x"):
            raise BadRequest(f"The operatorWalletAddress of this client ID, {wallet}, is not an EVM address: change it")
        return Place(contracts.escrow, wallet, is_service_operator=False)
    if not relayer_flows.can_submit(services, contracts.network):
        raise BadRequest(
            f"Nobody can operate a payment on {contracts.network}: ask whoever runs this service to set a key for the "
            "network (RELAYER_KEYS), or create the payment with a client ID that has an operatorWalletAddress"
        )
    return Place(contracts.escrow, relayer_flows.account_address(services, contracts.network), is_service_operator=True)


def _with_defaults(services: Services, owner: Owner, draft: Draft) -> tuple[Draft, Lifetimes]:
    """The draft without expiries that the client id sets, and how long each stage lasts then."""
    settings, client = services.settings, owner.settings
    if client.pre_approval_seconds is not None:
        draft = replace(draft, pre_approval_expiry=None)
    if client.authorization_seconds is not None:
        draft = replace(draft, authorization_expiry=None)
    return draft, Lifetimes(
        timedelta(seconds=client.pre_approval_seconds or settings.commerce_pre_approval_seconds),
        timedelta(seconds=client.authorization_seconds or settings.commerce_authorization_seconds),
        timedelta(seconds=settings.commerce_refund_seconds),
    )
