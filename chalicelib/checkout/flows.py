"""What a payer is shown of a link and given to sign, for every kind of link."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.records import PageBranding
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest
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
from chalicelib.checkout.rules import Source, check_source, due_of
from chalicelib.links.errors import WrongWallet
from chalicelib.links.flows import Reader, load_owned, refuse_contract_fees, require_payable, require_unlocked
from chalicelib.links.multicalls import flows as multicalls
from chalicelib.links.multicalls.rules import MulticallDetails
from chalicelib.links.records import Link, PaymentType, SecurePayment
from chalicelib.links.rules import check_payable
from chalicelib.requests.rules import currency_of, remaining
from chalicelib.services import Services


@dataclass(frozen=True)
class Payer:
    """How somebody wants to pay: `wallet` sends the transactions, as a Safe if `is_safe`, funded by `eoa_wallet`."""

    wallet: str | None
    source: Source | None = None
    is_safe: bool = False
    eoa_wallet: str | None = None
    simulate: bool = False


@dataclass(frozen=True)
class Description:
    """A link as it is shown. `multicall` is set for a multicall; `balances`, by token, when a wallet was given."""

    payment: SecurePayment
    multicall: MulticallDetails | None = None
    checkout: Checkout | None = None
    holdings: WalletReading | None = None
    branding: PageBranding | None = None


@dataclass(frozen=True)
class EoaFunding:
    """What the wallet that funds a smart account sends itself before, and what it holds."""

    approvals: tuple[Transaction, ...]
    holdings: WalletReading


@dataclass(frozen=True)
class Quote:
    """What a payer is given: the transactions, what they do, and what the wallet held when they were built.

    `parts` are the links that are paid: the link itself, or the children of a multicall.
    """

    payment: SecurePayment
    parts: tuple[SecurePayment, ...]
    checkout: Checkout
    payer: Payer
    holdings: WalletReading | None = None
    eoa: EoaFunding | None = None
    safe_transaction: SafeTransaction | None = None
    explanations: tuple[Explanation, ...] = ()
    eoa_explanations: tuple[Explanation, ...] = ()
    safe_explanation: Explanation | None = None
    simulation: Simulation | None = None


def describe(services: Services, token: str, reader: Reader, wallet: str | None) -> Description:
    """A payable link, its branding (one read), and the balances of `wallet` when one is given (one multicall).

    A multicall is shown whatever became of it: with each child and why it cannot be paid.
    """
    payment = load_owned(services, token, reader)
    details = None
    if payment.link.payment_type is PaymentType.MULTICALL:
        details = multicalls.details(services, payment)
        require_unlocked(services, replace(payment, requests=details.requests))
    else:
        require_payable(services, payment)
    shown = Description(payment, details, branding=branding.of_client(services, payment.link.client_id))
    if wallet is None or details is not None:
        return shown
    dues, chain = _dues((payment,)), services.chains.of(payment.requests[0].network)
    check_family(chain.network, wallet, "wallet")
    holdings, checkout = _price(chain, payment.link, dues, wallet)
    return replace(shown, checkout=checkout, holdings=holdings)


def quote(services: Services, token: str, reader: Reader, payer: Payer) -> Quote:
    """The transactions that pay what is left of a link. Without a wallet no allowance is assumed.

    Raises BadRequest for a way of paying that the link does not have, Forbidden for a payout that another wallet than
    its creator's is to pay, MulticallRefused when a child cannot be paid.
    """
    payment = load_owned(services, token, reader)
    parts = _payable_parts(services, payment, partial(require_payable, services))
    dues, chain = _dues(parts), services.chains.of(parts[0].requests[0].network)
    _check_payer(payer, parts, dues)
    if payer.is_safe and payer.wallet is not None and not chain.has_code(payer.wallet):
        raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {payer.wallet}")
    refuse_contract_fees(services, parts)
    holdings, checkout = _price(chain, payment.link, dues, payer.wallet)
    eoa = None
    if payer.eoa_wallet is not None and payer.wallet is not None:
        eoa = _fund(chain, checkout, payer.eoa_wallet, payer.wallet)
        checkout = calldata.with_funding(checkout, payer.eoa_wallet, payer.wallet)
    checkout = _approved(chain, checkout, payer.wallet, holdings)
    if payer.is_safe and checkout.gas > calldata.MAX_BATCH_GAS:
        raise BadRequest("A Safe would have to make more payments than fit into one transaction: combine fewer of them")
    built = Quote(payment, parts, checkout, payer, holdings, eoa)
    return _checked(chain, built)


def signable(services: Services, token: str, reader: Reader, wallet: str) -> tuple[Transaction, ...]:
    """What `wallet` may sign to pay a link on tron, whatever it approved before: approvals of nothing and of the whole
    debit, and the payments. No node is asked.

    Raises BadRequest for a link on another network, and what `quote` raises of a link that cannot be paid.
    """
    payment = load_owned(services, token, reader)
    now = services.clock()
    parts = _payable_parts(services, payment, lambda whole: check_payable(whole, now))
    dues = _dues(parts)
    if dues[0].token.network != "tron":
        raise BadRequest(f"This link is paid on {dues[0].token.network}: only transactions on tron are broadcast here")
    _check_payer(Payer(wallet), parts, dues)
    checkout = _priced(payment.link, dues)
    resets = frozenset(token.address for token in checkout.debits)
    return calldata.with_approvals(checkout, {}, resets).transactions


def check_family(network_name: str, address: str, name: str) -> None:
    """Raises BadRequest when an address is of the other family of chains than the network."""
    if address.startswith("T") != (network_name == "tron"):
        raise BadRequest(f"{name} is not an address of {network_name}, on which this link is paid")


def _payable_parts(
    services: Services, payment: SecurePayment, check: Callable[[SecurePayment], None]
) -> tuple[SecurePayment, ...]:
    """The links that are paid: the link itself, or the children of a multicall. `check` raises when it cannot be."""
    if payment.link.payment_type is PaymentType.MULTICALL:
        return multicalls.payable_children(services, payment, check)
    check(payment)
    return (payment,)


def _dues(parts: Sequence[SecurePayment]) -> list[Due]:
    """What is still owed, in the order of the requests."""
    return [
        due_of(request, part.link, currency_of(request))
        for part in parts
        for request in part.requests
        if remaining(request)
    ]


def _check_payer(payer: Payer, parts: Sequence[SecurePayment], dues: Sequence[Due]) -> None:
    name = dues[0].token.network
    for address, field_name in ((payer.wallet, "wallet"), (payer.eoa_wallet, "eoaWallet")):
        if address is not None:
            check_family(name, address, field_name)
    if name == "tron" and (payer.is_safe or payer.eoa_wallet is not None):
        raise BadRequest("A link on tron is paid from a wallet of its own: omit isSafe and eoaWallet")
    if name == "tron" and payer.source is not None:
        raise BadRequest("A link on tron is paid on tron: omit chain and token")
    if payer.eoa_wallet is not None and same_address(payer.eoa_wallet, str(payer.wallet)):
        raise BadRequest("eoaWallet is the wallet itself: omit it, or give the smart account as wallet")
    if payer.eoa_wallet is not None and any(due.token.is_native for due in dues):
        raise BadRequest("eoaWallet funds tokens alone: send the native coin to the smart account, and omit eoaWallet")
    if payer.source is not None:
        for part in parts:
            for request in part.requests:
                check_source(request, currency_of(request), payer.source)
    for part in parts:
        _check_creator(payer, part.link)


def _check_creator(payer: Payer, link: Link) -> None:
    """A payout is paid by the wallet that created it, from itself or through a smart account that it funds."""
    wallets = [wallet for wallet in (payer.wallet, payer.eoa_wallet) if wallet is not None]
    if link.creator_wallet is None or not wallets:
        return
    if not any(same_address(wallet, link.creator_wallet) for wallet in wallets):
        raise WrongWallet(link.creator_wallet)


def _price(
    chain: Chain, link: Link, dues: Sequence[Due], wallet: str | None
) -> tuple[WalletReading | None, Checkout]:
    """What paying takes, without approvals, and what the wallet holds of that; at most one question to the node."""
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
    return holdings, _priced(link, dues, batch_fee)


def _priced(link: Link, dues: Sequence[Due], batch_fee: int = 0) -> Checkout:
    is_single = link.payment_type is PaymentType.SINGLE
    return calldata.pay_one(dues[0]) if is_single else calldata.pay_together(dues, batch_fee)


def _approved(chain: Chain, checkout: Checkout, wallet: str | None, holdings: WalletReading | None) -> Checkout:
    if wallet is None or holdings is None:
        return calldata.with_approvals(checkout, {})
    allowances = {address: reading.allowance for address, reading in holdings.tokens.items()}
    resets = frozenset(
        token.address
        for token, debit in checkout.debits.items()
        if not token.is_native
        and 0 < allowances[token.address] < debit
        and _refuses_approval(chain, wallet, token, checkout.spender, debit)
    )
    return calldata.with_approvals(checkout, allowances, resets)


def _refuses_approval(chain: Chain, wallet: str, token: Token, spender: str, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does: asked, not listed."""
    grant = erc20.approve(token.address, spender, debit)
    return chain.would_revert(wallet, grant.to, grant.data)


def _fund(chain: Chain, checkout: Checkout, eoa: str, smart_account: str) -> EoaFunding:
    """The approvals by which a wallet lets its smart account take what a payment needs."""
    holdings = chain.read_wallet(eoa, [token.address for token in checkout.debits], smart_account)
    asked = replace(checkout, spender=smart_account)
    return EoaFunding(_approved(chain, asked, eoa, holdings).approvals, holdings)


def _checked(chain: Chain, built: Quote) -> Quote:
    """The quote with what its bytes do, as decoded from them, and on request what they would do now."""
    transactions, payer = built.checkout.transactions, built.payer
    simulation = None
    if payer.simulate and payer.wallet is not None:
        ahead = [(payer.eoa_wallet, each) for each in built.eoa.approvals] if built.eoa and payer.eoa_wallet else []
        simulation = chain.simulate([*ahead, *((payer.wallet, each) for each in transactions)])
    bundle = safe.bundle(chain.network, transactions) if payer.is_safe else None
    return replace(
        built,
        safe_transaction=bundle,
        explanations=explain(chain.network, transactions),
        eoa_explanations=explain(chain.network, built.eoa.approvals) if built.eoa else (),
        safe_explanation=explain(chain.network, [Transaction(bundle.to, bundle.data, 0)])[0] if bundle else None,
        simulation=simulation,
    )
