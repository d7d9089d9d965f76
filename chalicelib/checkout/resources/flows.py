"""Asks the Tron nodes what a payment takes, before it is signed and before it is sent."""

from collections.abc import Sequence

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.parallel import each_done
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.chains.calldata.explanations.parts import Explanation
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.nodes import every_node
from chalicelib.chains.nodes.tron import TronChain
from chalicelib.checkout.resources import rules


def quote_resources(
    chain: TronChain, wallet: str, holdings: WalletReading, checkout: Checkout, explanations: Sequence[Explanation]
) -> rules.ResourceQuote:
    """What the transactions take of what a wallet has. If no node says so, nothing is known.

    Requests to each node: two, and one for each approval, payment, or recipient of a payment that is not approved yet,
    of which there are five at most; two more to each of several nodes, which do not rely on `holdings`.
    """
    steps = rules.plan(wallet, checkout, explanations)
    try:
        return _by_nodes(chain, wallet, steps, rules.MARGIN_PERCENT, holdings)
    except ChainUnavailable:
        return rules.ResourceQuote(rules.Problem.UNKNOWN, balance=holdings.native_balance)


def check_energy(chain: TronChain, owner: str, step: rules.Step, tx_id: str) -> None:
    """Raises OutOfEnergy if a signed transaction would end so, by what the nodes measure now, unless one of them has it
    already. Raises ChainUnavailable if no node says so, and BadGateway if it would but may have been sent before.

    A call that fails on the newest state is not judged: what it needs may be waiting for the next block.
    """
    found = _by_nodes(chain, owner, (step,), 0)
    if found.problem not in (None, rules.Problem.UNKNOWN) and not _is_sent(chain, tx_id):
        raise rules.OutOfEnergy(found)


def _by_nodes(
    chain: TronChain,
    wallet: str,
    steps: Sequence[rules.Step],
    margin_percent: int,
    holdings: WalletReading | None = None,
) -> rules.ResourceQuote:
    """The worst quote of those by each node that answers; `holdings` are what the only one has said before."""
    nodes = every_node(chain)

    def by(node: TronChain) -> rules.ResourceQuote | ChainUnavailable:
        try:
            known = holdings if holdings is not None and len(nodes) == 1 else node.read_wallet(wallet, (), wallet)
            reading = node.read_resources(wallet, rules.calls_of(steps))
        except ChainUnavailable as error:
            return error
        if rules.contradicts(reading, known.native_balance, known.gas_price):
            return ChainUnavailable(f"The {chain.network} node contradicts itself; this call sent nothing")
        return rules.quote_steps(reading, known.native_balance, steps, margin_percent)

    answers = each_done(by, nodes, len(nodes))
    found = [each for each in answers if isinstance(each, rules.ResourceQuote)]
    if not found:
        raise next(each for each in answers if isinstance(each, ChainUnavailable))
    return rules.worst(found)


def _is_sent(chain: TronChain, tx_id: str) -> bool:
    """Whether a node has the transaction, which an earlier call may have sent: its TRX are burned then. Raises
    BadGateway if none that answers has it and another one does not answer."""
    silent: ChainUnavailable | None = None
    for node in every_node(chain):
        try:
            if node.has_transaction(tx_id):
                return True
        except ChainUnavailable as error:
            silent = error
    if silent is not None:
        message = "The wallet has too little now; the transaction may have been sent before: look it up, then send anew"
        raise BadGateway(message) from silent
    return False
