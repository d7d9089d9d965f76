"""Which transaction pays out what is at the address of a request for plain transfers, and why there is none."""

from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata import plain_transfers as plain_transfer_calldata
from chalicelib.chains.calldata.plain_transfers import PlainTransferTerms, plain_transfer_address
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.contracts import DEPLOYER
from chalicelib.chains.nodes.readings import PlainAddressState

NOTHING_THERE = "Nothing is at the address"
NO_MORE_THAN_THE_FEE = (
    "What is at the address is not more than the fee of a payment: it waits for more, and is paid out with that"
)
NO_DEPLOYER = (
    f"This network has no contract at {DEPLOYER}, which deploys the address: what is there can be had "
    "once somebody has put the deterministic deployer there"
)
REFUSED = (
    "The transfer from the address fails now: the token may be paused, or refuse the payee or the address. What is "
    "there stays there; ask again later"
)
ON_TRON = (
    "network: what was sent to this address on Tron cannot be had, as no contract of Tron can be at it: ask the "
    "exchange that sent it"
)


class Purpose(StrEnum):
    PAY_OUT = "pay_out"
    """Pays payee and fee through the fee proxy."""
    RESCUE = "rescue"
    """Pays the payee, without a fee and without the event of a payment."""


@frozen
class Emptying:
    """The transaction that empties an address, or why there is none."""

    purpose: Purpose
    transaction: Transaction | None = None
    unavailable: str | None = None


def emptying(terms: PlainTransferTerms, network: str, token: str | None, state: PlainAddressState) -> Emptying:
    """What empties the address with these terms of a token, or with None of the native coin, on a network.

    The token that is owed, on its own network, pays the request, once there is more than the fee; all else is rescued.
    """
    is_owed = network == terms.network and token == terms.token
    purpose = Purpose.PAY_OUT if is_owed else Purpose.RESCUE
    if not state.balance:
        return Emptying(purpose, unavailable=NOTHING_THERE)
    if is_owed and state.balance <= terms.fee_amount:
        return Emptying(purpose, unavailable=NO_MORE_THAN_THE_FEE)
    address = plain_transfer_address(terms)
    call = plain_transfer_calldata.pay_out(address) if is_owed else plain_transfer_calldata.rescue(address, token)
    if state.is_deployed:
        return Emptying(purpose, call)
    if not state.has_deployer:
        return Emptying(purpose, unavailable=NO_DEPLOYER)
    calls = [Call(each.to, each.data) for each in (plain_transfer_calldata.deploy(terms), call)]
    return Emptying(purpose, multicall3.all_or_nothing(network, calls))
