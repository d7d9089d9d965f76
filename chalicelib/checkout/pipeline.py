"""The one way from a cart to the transactions that pay it, for links, requests, payouts and commerce payments."""

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
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.accounts.simulation import Simulation
from chalicelib.chains.nodes.protocol import Chain
from chalicelib.checkout.approvals import read_and_build, with_approvals
from chalicelib.checkout.crosschain.flows import find_routes, pay_by_routes
from chalicelib.checkout.resources.rules import ResourceQuote
from chalicelib.checkout.rules import Cart, PayOptions
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.nodes.tron import TronChain
    from chalicelib.gasless.energy.records import EnergyDelegation

_MOST_TRANSFERS = 25
"""So many are run by a call each, all in one request, to find recipients whom a token refuses: whoever has the link may
ask for them."""


@frozen
class EoaFunding:
    """The approvals that the funding wallet of a smart account sends first, and what that wallet holds."""

    approvals: tuple[Transaction, ...]
    explanations: tuple[Explanation, ...]
    holdings: WalletReading


@frozen
class Prepared:
    """The transactions that pay a cart, their explanations, and what the wallet had when they were built."""

    cart: Cart
    checkout: Checkout
    options: PayOptions
    holdings: WalletReading | None = None
    eoa: EoaFunding | None = None
    safe_transaction: SafeTransaction | None = None
    explanations: tuple[Explanation, ...] = ()
    safe_explanation: Explanation | None = None
    simulation: Simulation | None = None
    resources: ResourceQuote | None = None
    """What the transactions take of the wallet; on Tron alone."""
    delegation: "EnergyDelegation | None" = None
    """What the service delegates to the wallet for them."""
    may_delegate: bool = False
    """Whether it may delegate what the wallet lacks, if it is asked to."""
    routes: tuple[Route | None, ...] = ()
    """How each position is paid from another chain; None for one that is paid on the chain of the transactions."""

    @property
    def pays_here(self) -> bool:
        """Whether a payment is made on the chain of the transactions, and not by a route to another one."""
        return not self.routes or None in self.routes

    @property
    def on_tron(self) -> bool:
        return self.cart.network == "tron"


def prepare_checkout(services: Services, cart: Cart, options: PayOptions) -> Prepared:
    """The transactions that pay a cart as its payer wants: by routes from another chain, else on its own network, with
    approvals, the funding of a smart account or the one transaction of a Safe, with explanations decoded from their
    calldata, and any simulation.

    Without a wallet, allowances are assumed to be zero. With one, calls to the node: one for the wallet, one for a
    Safe, one for a smart account, one or two for a simulation, one for each token with an allowance that is too small
    and not zero, on Tron those of `resources` and a read, and those of `find_routes` and `pay_by_routes`, which say
    what else is raised. Raises BadRequest if `wallet` is to be a Safe and is not one, or if it cannot make so many
    payments at once.
    """
    routes = find_routes(services, cart, options)
    if routes:
        chain, checkout, holdings = pay_by_routes(services, cart, routes, options)
    else:
        chain, checkout, holdings = _pay_here(services, cart, options)
    eoa = None
    if options.eoa_wallet is not None and options.wallet is not None:
        eoa = _eoa_funding(chain, checkout, options.eoa_wallet, options.wallet)
        checkout = checkout_calldata.with_funding(checkout, options.eoa_wallet, options.wallet)
    if options.is_safe and checkout.gas > checkout_calldata.MAX_BATCH_GAS:
        raise BadRequest("A Safe would have to make more payments than fit into one transaction: combine fewer of them")
    bundle = safe.bundle(chain.network, checkout.transactions) if options.is_safe else None
    explanations = explain(chain.network, checkout.transactions)
    resources = _resources(chain, options, holdings, checkout, explanations)
    delegation, may_delegate = _delegation(services, cart, options, resources)
    return Prepared(
        cart,
        checkout,
        options,
        holdings,
        eoa,
        safe_transaction=bundle,
        explanations=explanations,
        safe_explanation=explain(chain.network, [Transaction(bundle.to, bundle.data, 0)])[0] if bundle else None,
        simulation=_simulate_checkout(chain, options, eoa, checkout, cart.dues),
        resources=resources,
        delegation=delegation,
        may_delegate=may_delegate,
        routes=routes,
    )


def _pay_here(services: Services, cart: Cart, options: PayOptions) -> tuple[Chain, Checkout, WalletReading | None]:
    """On the network of what is due: all positions through the batch contract, the only one through a fee proxy, or by
    the call of the payer; with approvals, and what the wallet has."""
    chain, wallet = services.chains.of(cart.network), options.wallet
    holdings: WalletReading | None
    if cart.call is not None:
        assert wallet is not None, "such a call names its payer"
        paid = cart.call
        holdings = chain.read_wallet(wallet, [token.address for token in paid.debits], paid.spender)
    else:
        if options.is_safe and wallet is not None and not chain.has_code(wallet):
            raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {wallet}")
        holdings, paid = read_and_build(chain, cart.dues, wallet, batched=cart.by_batch)
    return chain, with_approvals(chain, paid, wallet, holdings), holdings


def _eoa_funding(chain: Chain, checkout: Checkout, eoa: str, smart_account: str) -> EoaFunding:
    """The approvals of the funding wallet that let its smart account take the debits of a payment."""
    holdings = chain.read_wallet(eoa, [token.address for token in checkout.debits], smart_account)
    approvals = with_approvals(chain, replace(checkout, spender=smart_account), eoa, holdings).approvals
    return EoaFunding(approvals, explain(chain.network, approvals), holdings)


def _resources(
    chain: Chain,
    options: PayOptions,
    holdings: WalletReading | None,
    checkout: Checkout,
    explanations: Sequence[Explanation],
) -> ResourceQuote | None:
    if chain.network != "tron" or options.wallet is None or holdings is None:
        return None
    from chalicelib.checkout.resources.flows import quote_resources  # most payments are not on Tron

    return quote_resources(cast("TronChain", chain), options.wallet, holdings, checkout, explanations)


def _delegation(
    services: Services, cart: Cart, options: PayOptions, resources: ResourceQuote | None
) -> "tuple[EnergyDelegation | None, bool]":
    """What is delegated to the wallet for a link on Tron, and whether what it lacks can be. One read at most."""
    if resources is None or cart.link is None or options.wallet is None or not services.secrets.tron_energy:
        return None, False
    from chalicelib.checkout.energy.rules import why_not  # most deployments have no stake
    from chalicelib.gasless.energy import flows as energy

    found = energy.of_link(services, cart.link.token, options.wallet)
    return found, found is None and energy.read_setting(services) is not None and why_not(cart.link, resources) is None


def _simulate_checkout(
    chain: Chain, options: PayOptions, eoa: EoaFunding | None, checkout: Checkout, dues: Sequence[Due]
) -> Simulation | None:
    if not options.simulate or options.wallet is None:
        return None
    funding = [(options.eoa_wallet, each) for each in eoa.approvals] if options.eoa_wallet and eoa else []
    simulation = chain.simulate([*funding, *((options.wallet, each) for each in checkout.transactions)])
    last = simulation.steps[-1].success
    may_fail = last is False or (last is None and simulation.method == "eth_call")
    if not may_fail or any(due.token.network != chain.network for due in dues):
        return simulation
    return _with_refused(chain, options.eoa_wallet or options.wallet, simulation, dues)


def _with_refused(chain: Chain, wallet: str, simulation: Simulation, dues: Sequence[Due]) -> Simulation:
    """The simulation of a payment that fails, or may, with the recipients whom a token refuses while it pays others,
    such as those on the blacklist of its issuer: a transfer of the smallest amount to each from the wallet that has the
    tokens is simulated, and then one to that wallet itself, which fails where it can send nothing. One request to the
    node, none for one recipient."""
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
        steps = chain.simulate([(wallet, each) for each in transfers]).steps
        fails: Sequence[bool] = [step.success is False for step in steps]
    elif len(transfers) <= _MOST_TRANSFERS:
        fails = chain.which_revert(wallet, transfers)
    else:
        return simulation
    sent = {token for token, is_refused in zip(tokens, fails[len(asked) :], strict=True) if not is_refused}
    refused = [each for each, is_refused in zip(asked, fails, strict=False) if is_refused and each[0] in sent]
    if not refused:
        return simulation
    *before, last = simulation.steps
    known = [last.reason] if last.success is False and last.reason else []
    reason = "; ".join([*known, *(f"{token.symbol} cannot be sent to {to}" for token, to in refused)])
    return replace(simulation, steps=(*before, replace(last, success=False, reason=reason)))
