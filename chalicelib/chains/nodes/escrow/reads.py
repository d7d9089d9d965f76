"""Reads from the commerce escrow, its collector of pre-approvals, and the tokens that it can take by a signature.

paymentState    34b778ed | payment hash    returns collected, capturable, refundable
isPreApproved   aa78d16a | payment hash    returns a bool
"""

from collections.abc import Mapping, Sequence

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.abi import WORD, call, read_uint
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.escrow.signatures import erc3009_domain, erc3009_reads
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, contract_read, unavailable_if_malformed

_PAYMENT_STATE = bytes.fromhex("34b778ed")
_IS_PRE_APPROVED = bytes.fromhex("aa78d16a")


@frozen
class EscrowState:
    """What the contracts say of one payment. A payment is collected once, by an authorization or a charge; then
    `capturable` base units are held, and `refundable` ones were captured and not refunded."""

    collected: bool
    capturable: BaseUnits
    refundable: BaseUnits
    pre_approved: bool


@unavailable_if_malformed
def read_escrow(
    node: JsonRpcClient, contracts: EscrowContracts, payment_hashes: Sequence[str], block: int | None = None
) -> tuple[EscrowState, ...]:
    """The states of payments after a block, without one after the newest, by one multicall.

    Raises ChainUnavailable if a contract does not answer: then it is not where it should be.
    """
    calls = [read for each in payment_hashes for read in _reads(contracts, bytes.fromhex(each[2:]))]
    read = contract_read(multicall3.aggregate(node.network, calls), "latest" if block is None else hex(block))
    (returned,) = node.results([read])
    results = multicall3.decode(returned)
    return tuple(_state(*results[at : at + 2]) for at in range(0, len(calls), 2))


@unavailable_if_malformed
def read_able_payers(
    node: JsonRpcClient, contracts: EscrowContracts, token: str, amount: int, wallets: Mapping[str, str]
) -> tuple[str, ...]:
    """Those of `wallets` ({address: hash of the payment with it}) from which the escrow could take an amount now: they
    have it, have allowed it to the collector of pre-approvals, and have pre-approved the payment. One multicall."""
    calls = [
        read
        for wallet, named in wallets.items()
        for read in (
            erc20.balance_of(token, wallet),
            erc20.allowance(token, wallet, contracts.pre_approval),
            Call(contracts.pre_approval, call(_IS_PRE_APPROVED, bytes.fromhex(named[2:]))),
        )
    ]
    (returned,) = node.results([contract_read(multicall3.aggregate(node.network, calls))])
    results = multicall3.decode(returned)
    return tuple(wallet for at, wallet in enumerate(wallets) if _is_able(results[3 * at : 3 * at + 3], amount))


@unavailable_if_malformed
def read_erc3009_domain(node: JsonRpcClient, contracts: EscrowContracts, info: PaymentInfo) -> TokenDomain | None:
    """The domain in which the payer signs an ERC-3009 transfer for a payment; None if the token has none such."""
    aggregate = multicall3.aggregate(node.network, erc3009_reads(info, contracts))
    (returned,) = node.results([contract_read(aggregate)])
    return erc3009_domain(multicall3.decode(returned), info, contracts)


def _is_able(results: Sequence[bytes | None], amount: int) -> bool:
    balance, allowance, pre_approved = (read_uint(each, 0) if each is not None else 0 for each in results)
    return min(balance, allowance) >= amount and bool(pre_approved)


def _reads(contracts: EscrowContracts, payment_hash: bytes) -> tuple[Call, Call]:
    return (
        Call(contracts.escrow, call(_PAYMENT_STATE, payment_hash)),
        Call(contracts.pre_approval, call(_IS_PRE_APPROVED, payment_hash)),
    )


def _state(state: bytes | None, pre_approved: bytes | None) -> EscrowState:
    """Raises ValueError if a contract failed or returned less than it should."""
    if state is None or pre_approved is None:
        raise ValueError("a contract of the escrow failed")
    collected, capturable, refundable = (read_uint(state, at) for at in range(0, 3 * WORD, WORD))
    return EscrowState(bool(collected), BaseUnits(capturable), BaseUnits(refundable), bool(read_uint(pre_approved, 0)))
