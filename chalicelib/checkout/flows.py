"""Builds what a payer sees of a link and signs to pay it, for every kind of link."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.records import PageBranding
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.calldata import checkout as calldata
from chalicelib.calldata import erc20, safe
from chalicelib.calldata.checkout import Checkout, Due
from chalicelib.calldata.explain import explain
from chalicelib.calldata.explanation import Explanation
from chalicelib.calldata.safe import SafeTransaction
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.tokens import Token
from chalicelib.chain.protocol import Chain
from chalicelib.chain.simulation import Simulation
from chalicelib.chain.wallets import WalletReading
from chalicelib.checkout.rules import SourceToken, check_source, due_of
from chalicelib.links.errors import WrongWallet
from chalicelib.links.flows import check_fee_addresses, require_payable, require_unlocked
from chalicelib.links.multicalls import reading as multicalls
from chalicelib.links.multicalls.rules import MulticallDetails
from chalicelib.links.reading import Viewer, load_visible
from chalicelib.links.records import Link, PaymentType, SecurePayment
from chalicelib.links.rules import check_payable
from chalicelib.requests.rules import currency_of, remaining
from chalicelib.services import Services


@frozen
class PayOptions:
    """How a payer wants to pay: `wallet` sends the transactions, as a Safe if `is_safe`, funded by any `eoa_wallet`."""

    wallet: str | None
    source: SourceToken | None = None
    is_safe: bool = False
    eoa_wallet: str | None = None
    simulate: bool = False


@frozen
class Description:
    """What a payer sees of a link. `multicall` is set for multicalls, `checkout` and `holdings` with a wallet."""

    payment: SecurePayment
    multicall: MulticallDetails | None = None
    checkout: Checkout | None = None
    holdings: WalletReading | None = None
    branding: PageBranding | None = None


@frozen
class EoaFunding:
    """The approvals that the funding wallet of a smart account sends first, and what that wallet holds."""

    approvals: tuple[Transaction, ...]
    holdings: WalletReading


@frozen
class Quote:
    """The transactions that pay a link, their explanations, and what the wallet held when they were built.

    `parts` are the links that are paid: the link itself, or the children of a multicall.
    """

    payment: SecurePayment
    parts: tuple[SecurePayment, ...]
    checkout: Checkout
    options: PayOptions
    holdings: WalletReading | None = None
    eoa: EoaFunding | None = None
    safe_transaction: SafeTransaction | None = None
    explanations: tuple[Explanation, ...] = ()
    eoa_explanations: tuple[Explanation, ...] = ()
    safe_explanation: Explanation | None = None
    simulation: Simulation | None = None


def describe(services: Services, token: str, viewer: Viewer, wallet: str | None) -> Description:
    """A payable link with its branding (one read), and what `wallet` holds if one is given (one call to the node).

    A multicall is described even if it cannot be paid, with the block reason of each child. Raises what
    `require_payable` raises, or for a multicall `require_unlocked`.
    """
    payment = load_visible(services, token, viewer)
    details = None
    if payment.link.payment_type is PaymentType.MULTICALL:
        details = multicalls.details(services, payment)
        require_unlocked(services, replace(payment, requests=details.requests))
    else:
        require_payable(services, payment)
    description = Description(payment, details, branding=branding.of_client(services, payment.link.client_id))
    if wallet is None or details is not None:
        return description
    dues, chain = _dues((payment,)), services.chains.of(payment.requests[0].network)
    check_family(chain.network, wallet, "wallet")
    holdings, checkout = _read_and_price(chain, payment.link, dues, wallet)
    return replace(description, checkout=checkout, holdings=holdings)


def quote(services: Services, token: str, viewer: Viewer, options: PayOptions) -> Quote:
    """The transactions that pay the remaining amount of a link. Without a wallet, allowances are assumed to be zero.

    Raises BadRequest for options that the link does not support, WrongWallet if a payout would be paid by another
    wallet than its creator's, MulticallRefused if a child cannot be paid, and what `require_payable` raises.
    """
    payment = load_visible(services, token, viewer)
    parts = _payable_parts(services, payment, partial(require_payable, services))
    dues, chain = _dues(parts), services.chains.of(parts[0].requests[0].network)
    _check_options(options, parts, dues)
    if options.is_safe and options.wallet is not None and not chain.has_code(options.wallet):
        raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {options.wallet}")
    check_fee_addresses(services, parts)
    holdings, checkout = _read_and_price(chain, payment.link, dues, options.wallet)
    eoa = None
    if options.eoa_wallet is not None and options.wallet is not None:
        eoa = _eoa_funding(chain, checkout, options.eoa_wallet, options.wallet)
        checkout = calldata.with_funding(checkout, options.eoa_wallet, options.wallet)
    checkout = _with_approvals(chain, checkout, options.wallet, holdings)
    if options.is_safe and checkout.gas > calldata.MAX_BATCH_GAS:
        raise BadRequest("A Safe would have to make more payments than fit into one transaction: combine fewer of them")
    built = Quote(payment, parts, checkout, options, holdings, eoa)
    return _with_explanations(chain, built)


def signable_transactions(services: Services, token: str, viewer: Viewer, wallet: str) -> tuple[Transaction, ...]:
    """Every transaction that `wallet` can sign to pay a link on Tron: approvals of zero and of the whole debit, for any
    allowance that it has now, and the payments. No call to a node.

    Raises BadRequest for a link on another network, and as `quote` if the link cannot be paid.
    """
    payment = load_visible(services, token, viewer)
    now = services.clock()
    parts = _payable_parts(services, payment, lambda checked: check_payable(checked, now))
    dues = _dues(parts)
    if dues[0].token.network != "tron":
        raise BadRequest(f"This link is paid on {dues[0].token.network}: only transactions on tron are broadcast here")
    _check_options(PayOptions(wallet), parts, dues)
    checkout = _without_approvals(payment.link, dues)
    resets = frozenset(token.address for token in checkout.debits)
    return calldata.with_approvals(checkout, {}, resets).transactions


def safe_transactions(
    services: Services, link: Link, parts: Sequence[SecurePayment]
) -> tuple[SafeTransaction, ...]:
    """Every transaction that `/pay` can return for a Safe to pay the remaining amounts of `parts`, whatever its
    allowances are; one without approvals also as a plain call. One call to the node if the link is a batch."""
    dues = _dues(parts)
    if not dues:
        return ()
    name = dues[0].token.network
    is_single = link.payment_type is PaymentType.SINGLE
    paid = _without_approvals(link, dues, 0 if is_single else services.chains.of(name).read_batch_fee())
    resets = frozenset(token.address for token in paid.debits if not token.is_native)
    approved = (calldata.with_approvals(paid, {}), calldata.with_approvals(paid, {}, resets))
    bundles = [safe.bundle(name, each.transactions) for each in (paid, *approved)]
    only = paid.transactions[0] if len(paid.transactions) == 1 else None
    return tuple(dict.fromkeys([*bundles, *([SafeTransaction(only.to, only.value, only.data, 0)] if only else [])]))


def check_family(network_name: str, address: str, name: str) -> None:
    """Raises BadRequest if an EVM address is given for Tron, or a Tron address for an EVM network."""
    if address.startswith("T") != (network_name == "tron"):
        raise BadRequest(f"{name} is not an address of {network_name}, on which this link is paid")


def _payable_parts(
    services: Services, payment: SecurePayment, check: Callable[[SecurePayment], None]
) -> tuple[SecurePayment, ...]:
    """The links that are paid: the link itself, or the children of a multicall. `check` raises if it cannot be paid."""
    if payment.link.payment_type is PaymentType.MULTICALL:
        return multicalls.payable_children(services, payment, check)
    check(payment)
    return (payment,)


def _dues(parts: Sequence[SecurePayment]) -> list[Due]:
    """The remaining amounts of the unpaid requests, in order."""
    return [
        due_of(request, part.link, currency_of(request))
        for part in parts
        for request in part.requests
        if remaining(request)
    ]


def _check_options(options: PayOptions, parts: Sequence[SecurePayment], dues: Sequence[Due]) -> None:
    name = dues[0].token.network
    for address, field_name in ((options.wallet, "wallet"), (options.eoa_wallet, "eoaWallet")):
        if address is not None:
            check_family(name, address, field_name)
    if name == "tron" and (options.is_safe or options.eoa_wallet is not None):
        raise BadRequest("A link on tron is paid from a wallet of its own: omit isSafe and eoaWallet")
    if name == "tron" and options.source is not None:
        raise BadRequest("A link on tron is paid on tron: omit chain and token")
    if options.eoa_wallet is not None and same_address(options.eoa_wallet, str(options.wallet)):
        raise BadRequest("eoaWallet is the wallet itself: omit it, or give the smart account as wallet")
    if options.eoa_wallet is not None and any(due.token.is_native for due in dues):
        raise BadRequest("eoaWallet funds tokens alone: send the native coin to the smart account, and omit eoaWallet")
    if options.source is not None:
        for part in parts:
            for request in part.requests:
                check_source(request, currency_of(request), options.source)
    for part in parts:
        _check_creator(options, part.link)


def _check_creator(options: PayOptions, link: Link) -> None:
    """Raises WrongWallet unless a payout's creator pays, directly or by funding the smart account that pays."""
    wallets = [wallet for wallet in (options.wallet, options.eoa_wallet) if wallet is not None]
    if link.creator_wallet is None or not wallets:
        return
    if not any(same_address(wallet, link.creator_wallet) for wallet in wallets):
        raise WrongWallet(link.creator_wallet)


def _read_and_price(
    chain: Chain, link: Link, dues: Sequence[Due], wallet: str | None
) -> tuple[WalletReading | None, Checkout]:
    """What the wallet holds of the tokens due, and the payments without approvals. At most one call to the node."""
    batched = link.payment_type is not PaymentType.SINGLE
    has_batch_fee = batched and chain.network != "tron"
    holdings, batch_fee = None, 0
    if wallet is not None:
        tokens = list(dict.fromkeys(due.token.address for due in dues if not due.token.is_native))
        spender = calldata.spender_of(dues[0].token, batched)
        holdings = chain.read_wallet(wallet, tokens, spender, batch_fee=has_batch_fee)
        batch_fee = holdings.batch_fee_bps
    elif has_batch_fee:
        batch_fee = chain.read_batch_fee()
    return holdings, _without_approvals(link, dues, batch_fee)


def _without_approvals(link: Link, dues: Sequence[Due], batch_fee: int = 0) -> Checkout:
    is_single = link.payment_type is PaymentType.SINGLE
    return calldata.pay_one(dues[0]) if is_single else calldata.pay_together(dues, batch_fee)


def _with_approvals(chain: Chain, checkout: Checkout, wallet: str | None, holdings: WalletReading | None) -> Checkout:
    if wallet is None or holdings is None:
        return calldata.with_approvals(checkout, {})
    allowances = {address: reading.allowance for address, reading in holdings.tokens.items()}
    resets = frozenset(
        token.address
        for token, debit in checkout.debits.items()
        if not token.is_native
        and 0 < allowances[token.address] < debit
        and _refuses_change(chain, wallet, token, checkout.spender, debit)
    )
    return calldata.with_approvals(checkout, allowances, resets)


def _refuses_change(chain: Chain, wallet: str, token: Token, spender: str, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does. One `eth_call`."""
    grant = erc20.approve(token.address, spender, debit)
    return chain.would_revert(wallet, grant.to, grant.data)


def _eoa_funding(chain: Chain, checkout: Checkout, eoa: str, smart_account: str) -> EoaFunding:
    """The approvals of the funding wallet that let its smart account take the debits of a payment."""
    holdings = chain.read_wallet(eoa, [token.address for token in checkout.debits], smart_account)
    for_account = replace(checkout, spender=smart_account)
    return EoaFunding(_with_approvals(chain, for_account, eoa, holdings).approvals, holdings)


def _with_explanations(chain: Chain, built: Quote) -> Quote:
    """The quote with its Safe transaction, explanations decoded from calldata, and any simulation."""
    transactions, options = built.checkout.transactions, built.options
    simulation = None
    if options.simulate and options.wallet is not None:
        steps = [(options.wallet, each) for each in transactions]
        if built.eoa is not None and options.eoa_wallet is not None:
            steps = [*((options.eoa_wallet, each) for each in built.eoa.approvals), *steps]
        simulation = chain.simulate(steps)
    bundle = safe.bundle(chain.network, transactions) if options.is_safe else None
    return replace(
        built,
        safe_transaction=bundle,
        explanations=explain(chain.network, transactions),
        eoa_explanations=explain(chain.network, built.eoa.approvals) if built.eoa else (),
        safe_explanation=explain(chain.network, [Transaction(bundle.to, bundle.data, 0)])[0] if bundle else None,
        simulation=simulation,
    )
