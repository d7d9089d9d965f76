"""Builds the transactions that pay what is owed, with what the wallet holds, their explanations and a simulation."""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata import checkout as calldata
from chalicelib.chains.calldata import erc20, safe
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.parts import Explanation
from chalicelib.chains.calldata.safe import SafeTransaction
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.protocol import Chain
from chalicelib.chains.nodes.simulation import Simulation
from chalicelib.chains.nodes.wallets import WalletReading
from chalicelib.crosschain.service.router.rules import Route
from chalicelib.payments.payable.rules import Position, SourceToken
from chalicelib.platform.services import Services


@frozen
class PayOptions:
    """How a payer wants to pay: `wallet` sends the transactions, as a Safe if `is_safe`, funded by any `eoa_wallet`."""

    wallet: str | None
    source: SourceToken | None = None
    is_safe: bool = False
    eoa_wallet: str | None = None
    simulate: bool = False


@frozen
class EoaFunding:
    """The approvals that the funding wallet of a smart account sends first, and what that wallet holds."""

    approvals: tuple[Transaction, ...]
    holdings: WalletReading


@frozen
class Prepared:
    """The transactions that pay the positions, their explanations, and what the wallet held when they were built."""

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
    routes: tuple[Route | None, ...] = ()
    """How each position is paid from another chain; None for one that is paid on the chain of the transactions."""

    @property
    def pays_here(self) -> bool:
        """Whether a payment is made on the chain of the transactions, and not by a route to another one."""
        return not self.routes or None in self.routes

    @property
    def on_tron(self) -> bool:
        return self.positions[0].due.token.network == "tron"


def prepare(
    services: Services, positions: Sequence[Position], options: PayOptions, *, batched: bool
) -> Prepared:
    """The transactions that pay the positions, through the batch contract if `batched`, or the only position.

    Without a wallet, allowances are assumed to be zero. At most one call to the node for the wallet, one for each token
    whose allowance is too small, and one for a simulation. Raises BadRequest if `wallet` is to be a Safe and is none.
    """
    chain = services.chains.of(positions[0].due.token.network)
    if options.is_safe and options.wallet is not None and not chain.has_code(options.wallet):
        raise BadRequest(f"wallet is not a Safe on {chain.network}: there is no contract at {options.wallet}")
    holdings, checkout = read_and_build(chain, [each.due for each in positions], options.wallet, batched=batched)
    checkout = with_approvals(chain, checkout, options.wallet, holdings)
    return complete(chain, Prepared(tuple(positions), checkout, options, holdings))


def complete(chain: Chain, built: Prepared) -> Prepared:
    """The same for the wallets that the options name, with the Safe's transaction, explanations and any simulation.

    At most two calls to the node, and one for each token whose allowance is too small. Raises BadRequest if a Safe
    cannot make so many payments at once.
    """
    options, checkout = built.options, built.checkout
    if options.eoa_wallet is not None and options.wallet is not None:
        eoa = _eoa_funding(chain, checkout, options.eoa_wallet, options.wallet)
        checkout = calldata.with_funding(checkout, options.eoa_wallet, options.wallet)
        built = replace(built, checkout=checkout, eoa=eoa)
    if options.is_safe and checkout.gas > calldata.MAX_BATCH_GAS:
        raise BadRequest("A Safe would have to make more payments than fit into one transaction: combine fewer of them")
    return _with_explanations(chain, built)


def read_and_build(
    chain: Chain, dues: Sequence[Due], wallet: str | None, *, batched: bool
) -> tuple[WalletReading | None, Checkout]:
    """What the wallet holds of the tokens due, and the payments without approvals. At most one call to the node."""
    has_batch_fee = batched and chain.network != "tron"
    holdings, batch_fee = None, 0
    if wallet is not None:
        tokens = list(dict.fromkeys(due.token.address for due in dues if not due.token.is_native))
        spender = calldata.spender_of(dues[0].token, batched, converted=dues[0].conversion is not None)
        holdings = chain.read_wallet(wallet, tokens, spender, batch_fee=has_batch_fee)
        batch_fee = holdings.batch_fee_bps
    elif has_batch_fee:
        batch_fee = chain.read_batch_fee()
    return holdings, payments_of(dues, batch_fee, batched=batched)


def payments_of(dues: Sequence[Due], batch_fee_bps: int, *, batched: bool) -> Checkout:
    """The payments of the dues, without approvals."""
    return calldata.pay_together(dues, batch_fee_bps) if batched else calldata.pay_one(dues[0])


def with_approvals(
    chain: Chain, checkout: Checkout, wallet: str | None, holdings: WalletReading | None, *, always: bool = False
) -> Checkout:
    """The checkout with the approvals that the wallet needs, or `always` with one of exactly each debit.

    One call to the node for each token that has to change an allowance which is not zero.
    """
    if wallet is None or holdings is None:
        return calldata.with_approvals(checkout, {})
    allowances = {address: reading.allowance for address, reading in holdings.tokens.items()}
    resets = frozenset(
        token.address
        for token, debit in checkout.debits.items()
        if not token.is_native
        and allowances[token.address] > 0
        and (always or allowances[token.address] < debit)
        and _refuses_change(chain, wallet, token, checkout.spender, debit)
    )
    return calldata.with_approvals(checkout, {} if always else allowances, resets)


def _refuses_change(chain: Chain, wallet: str, token: Token, spender: str, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does. One `eth_call`."""
    grant = erc20.approve(token.address, spender, debit)
    return chain.would_revert(wallet, grant.to, grant.data)


def _eoa_funding(chain: Chain, checkout: Checkout, eoa: str, smart_account: str) -> EoaFunding:
    """The approvals of the funding wallet that let its smart account take the debits of a payment."""
    holdings = chain.read_wallet(eoa, [token.address for token in checkout.debits], smart_account)
    for_account = replace(checkout, spender=smart_account)
    return EoaFunding(with_approvals(chain, for_account, eoa, holdings).approvals, holdings)


def _with_explanations(chain: Chain, built: Prepared) -> Prepared:
    """The same with its Safe transaction, explanations decoded from calldata, and any simulation."""
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
