"""The pipeline of checkout, one for links, requests, payouts and commerce payments:

    load -> Payable -> what is due (payments/payable) -> transactions, by a variant -> explanations, simulation

    own       on the network of what is due: by a fee proxy, or many by the batch contract
    routed    from another chain: by a route to each, and what is due there directly (crosschain/flows.py)
    called    by a call that only the payer can send: those of a commerce payment (commerce.py)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.parts import Explanation
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets import safe
from chalicelib.chains.calldata.wallets.safe import SafeTransaction
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.accounts.simulation import Simulation
from chalicelib.chains.nodes.protocol import Chain
from chalicelib.checkout.resources.rules import ResourceQuote
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.payments.links.records import Payable, PayableLink
from chalicelib.payments.payable.rules import Position
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.tron import TronChain

_MOST_TRANSFERS = 20
"""So many are run by a call each, to find recipients whom a token refuses."""


@frozen
class EoaFunding:
    """The approvals that the funding wallet of a smart account sends first, and what that wallet holds."""

    approvals: tuple[Transaction, ...]
    holdings: WalletReading


@frozen
class Prepared:
    """The transactions that pay the positions, their explanations, and what the wallet had when they were built.

    `payable` is what was asked to be paid; None for new payouts, and for stored ones that are paid together. `parts`
    are the links that are paid: the link itself, or the children of a multicall. `is_capped`: less is left of a request
    than was asked to be paid.
    """

    positions: tuple[Position, ...]
    checkout: Checkout
    options: PayOptions
    holdings: WalletReading | None = None
    eoa: EoaFunding | None = None
    safe_transaction: SafeTransaction | None = None
    explanations: tuple[Explanation, ...] = ()
    eoa_explanations: tuple[Explanation, ...] = ()
    safe_explanation: Explanation | None = None
    simulation: Simulation | None = None
    resources: ResourceQuote | None = None
    """What the transactions take of the wallet; on Tron alone."""
    routes: tuple[Route | None, ...] = ()
    """How each position is paid from another chain; None for one that is paid on the chain of the transactions."""
    payable: Payable | None = None
    parts: tuple[PayableLink, ...] = ()
    is_capped: bool = False

    @property
    def pays_here(self) -> bool:
        """Whether a payment is made on the chain of the transactions, and not by a route to another one."""
        return not self.routes or None in self.routes

    @property
    def on_tron(self) -> bool:
        return self.positions[0].due.token.network == "tron"


@frozen
class Built:
    """What a variant makes: transactions on one chain that pay the positions, with approvals, and what the wallet
    has. `routes` as in Prepared."""

    chain: Chain
    checkout: Checkout
    holdings: WalletReading | None
    routes: tuple[Route | None, ...] = ()


def own(services: Services, positions: Sequence[Position], options: PayOptions, *, batched: bool = False) -> Built:
    """On the network of what is due: all positions through the batch contract if `batched`, or the only position.

    Without a wallet, allowances are assumed to be zero. At most one call to the node for the wallet, and one for each
    token whose allowance is too small. Raises BadRequest if `wallet` is to be a Safe and is not one.
    """
    chain, wallet = services.chains.of(positions[0].due.token.network), options.wallet
    if options.is_safe and wallet is not None and not chain.has_code(wallet):
        raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {wallet}")
    holdings, paid = read_and_build(chain, [each.due for each in positions], wallet, batched=batched)
    return Built(chain, with_approvals(chain, paid, wallet, holdings), holdings)


def prepare(positions: Sequence[Position], options: PayOptions, built: Built) -> Prepared:
    """The transactions of a variant for the wallets that the options name: with the funding of a smart account, the
    Safe's transaction, explanations decoded from calldata, and any simulation.

    At most two calls to the node, on Tron those of `resources`, and one for each token whose allowance for a smart
    account is too small. Raises BadRequest if a Safe cannot make so many payments at once.
    """
    chain, checkout, eoa = built.chain, built.checkout, None
    if options.eoa_wallet is not None and options.wallet is not None:
        eoa = _eoa_funding(chain, checkout, options.eoa_wallet, options.wallet)
        checkout = checkout_calldata.with_funding(checkout, options.eoa_wallet, options.wallet)
    if options.is_safe and checkout.gas > checkout_calldata.MAX_BATCH_GAS:
        raise BadRequest("A Safe would have to make more payments than fit into one transaction: combine fewer of them")
    approvals = eoa.approvals if eoa else ()
    bundle = safe.bundle(chain.network, checkout.transactions) if options.is_safe else None
    explanations = explain(chain.network, checkout.transactions)
    return Prepared(
        tuple(positions),
        checkout,
        options,
        built.holdings,
        eoa,
        safe_transaction=bundle,
        explanations=explanations,
        eoa_explanations=explain(chain.network, approvals),
        safe_explanation=explain(chain.network, [Transaction(bundle.to, bundle.data, 0)])[0] if bundle else None,
        simulation=_simulate_checkout(chain, options, approvals, checkout, [each.due for each in positions]),
        resources=_resources(built, options, explanations),
        routes=built.routes,
    )


def read_and_build(
    chain: Chain, dues: Sequence[Due], wallet: str | None, *, batched: bool
) -> tuple[WalletReading | None, Checkout]:
    """What the wallet holds of the tokens due, and the payments without approvals. At most one call to the node."""
    has_batch_fee = batched and chain.network != "tron"
    holdings, batch_fee = None, 0
    if wallet is not None:
        tokens = list(dict.fromkeys(due.token.address for due in dues if not due.token.is_native))
        spender = checkout_calldata.spender_of(dues[0].token, batched, converted=dues[0].conversion is not None)
        holdings = chain.read_wallet(wallet, tokens, spender, batch_fee=has_batch_fee)
        batch_fee = holdings.batch_fee_bps
    elif has_batch_fee:
        batch_fee = chain.read_batch_fee()
    return holdings, payments_of(dues, batch_fee, batched=batched)


def payments_of(dues: Sequence[Due], batch_fee_bps: int, *, batched: bool) -> Checkout:
    """The payments of the dues, without approvals."""
    return checkout_calldata.pay_together(dues, batch_fee_bps) if batched else checkout_calldata.pay_one(dues[0])


def with_approvals(
    chain: Chain, checkout: Checkout, wallet: str | None, holdings: WalletReading | None, *, always: bool = False
) -> Checkout:
    """The checkout with the approvals that the wallet needs, or `always` with one of exactly each debit.

    One call to the node for each token that has to change an allowance which is not zero.
    """
    if wallet is None or holdings is None:
        return checkout_calldata.with_approvals(checkout, {})
    allowances = {address: reading.allowance for address, reading in holdings.tokens.items()}
    resets = frozenset(
        token.address
        for token, debit in checkout.debits.items()
        if not token.is_native
        and allowances[token.address] > 0
        and (always or allowances[token.address] < debit)
        and _refuses_change(chain, wallet, token, checkout.spender, debit)
    )
    return checkout_calldata.with_approvals(checkout, {} if always else allowances, resets)


def _refuses_change(chain: Chain, wallet: str, token: Token, spender: str, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does. One `eth_call`."""
    grant = erc20.approve(token.address, spender, debit)
    return chain.would_revert(wallet, grant.to, grant.data)


def _eoa_funding(chain: Chain, checkout: Checkout, eoa: str, smart_account: str) -> EoaFunding:
    """The approvals of the funding wallet that let its smart account take the debits of a payment."""
    holdings = chain.read_wallet(eoa, [token.address for token in checkout.debits], smart_account)
    for_account = replace(checkout, spender=smart_account)
    return EoaFunding(with_approvals(chain, for_account, eoa, holdings).approvals, holdings)


def _resources(built: Built, options: PayOptions, explanations: Sequence[Explanation]) -> ResourceQuote | None:
    if built.chain.network != "tron" or options.wallet is None or built.holdings is None:
        return None
    from chalicelib.checkout.resources.flows import quote_resources  # most payments are not on Tron

    return quote_resources(cast("TronChain", built.chain), options.wallet, built.holdings, built.checkout, explanations)


def _simulate_checkout(
    chain: Chain, options: PayOptions, approvals: Sequence[Transaction], checkout: Checkout, dues: Sequence[Due]
) -> Simulation | None:
    if not options.simulate or options.wallet is None:
        return None
    funding = [(options.eoa_wallet, each) for each in approvals] if options.eoa_wallet is not None else []
    simulation = chain.simulate([*funding, *((options.wallet, each) for each in checkout.transactions)])
    if simulation.steps[-1].success is not False or any(due.token.network != chain.network for due in dues):
        return simulation
    return _with_refused(chain, options.eoa_wallet or options.wallet, simulation, dues)


def _with_refused(chain: Chain, wallet: str, simulation: Simulation, dues: Sequence[Due]) -> Simulation:
    """The simulation of a payment that fails, with the recipients whom a token refuses while it pays others, such as
    those on the blacklist of its issuer: a transfer of the smallest amount to each from the wallet that has the tokens
    is simulated, and then one to that wallet itself, which fails where it can send nothing. One call to the node, none
    for one recipient; one for each transfer where it cannot run several."""
    fees = ((due.token, due.fee_address) for due in dues if due.fee and due.fee_address)
    asked = [
        each for each in dict.fromkeys([*((due.token, due.payee) for due in dues), *fees]) if not each[0].is_native
    ]
    if len(asked) < 2:
        return simulation
    tokens = list(dict.fromkeys(token for token, _ in asked))
    probes = [*asked, *((token, wallet) for token in tokens)]
    transfers = [erc20.transfer(token.address, to, 1) for token, to in probes]
    if simulation.method == "eth_simulateV1":
        fails = [step.success is False for step in chain.simulate([(wallet, each) for each in transfers]).steps]
    elif len(transfers) <= _MOST_TRANSFERS:
        fails = [chain.would_revert(wallet, each.to, each.data) for each in transfers]
    else:
        return simulation
    sent = {token for token, is_refused in zip(tokens, fails[len(asked) :], strict=True) if not is_refused}
    refused = [each for each, is_refused in zip(asked, fails, strict=False) if is_refused and each[0] in sent]
    named = "".join(f"; {token.symbol} cannot be sent to {to}" for token, to in refused)
    *before, last = simulation.steps
    return replace(simulation, steps=(*before, replace(last, reason=f"{last.reason}{named}")))
