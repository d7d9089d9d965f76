"""Calls of ERC-20 and TRC-20 tokens: approvals and transfers to sign, balances and allowances to read.

approve       095ea7b3 | spender | amount
transfer      a9059cbb | recipient | amount
transferFrom  23b872dd | owner | recipient | amount
balanceOf     70a08231 | owner
allowance     dd62ed3e | owner | spender
"""

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata.abi import address_word, call, uint_word
from chalicelib.chains.calldata.transaction import Call, Transaction

_APPROVE = bytes.fromhex("095ea7b3")
_TRANSFER = bytes.fromhex("a9059cbb")
_TRANSFER_FROM = bytes.fromhex("23b872dd")
_BALANCE_OF = bytes.fromhex("70a08231")
_ALLOWANCE = bytes.fromhex("dd62ed3e")


def approve(token: str, spender: str, amount: int) -> Transaction:
    """Allows `spender` to take up to `amount` base units; 0 withdraws the allowance."""
    return Transaction(_canonical(token), call(_APPROVE, address_word(spender), uint_word(amount)), 0)


def transfer(token: str, recipient: str, amount: int) -> Transaction:
    """Transfers base units of the sender to the recipient."""
    return Transaction(_canonical(token), call(_TRANSFER, address_word(recipient), uint_word(amount)), 0)


def transfer_from(token: str, owner: str, recipient: str, amount: int) -> Transaction:
    """Transfers base units from `owner` to the recipient. The sender needs an allowance of `owner`."""
    words = address_word(owner), address_word(recipient), uint_word(amount)
    return Transaction(_canonical(token), call(_TRANSFER_FROM, *words), 0)


def balance_of(token: str, owner: str) -> Call:
    """Reads the balance of `owner` in base units: one uint256."""
    return Call(token, call(_BALANCE_OF, address_word(owner)))


def allowance(token: str, owner: str, spender: str) -> Call:
    """Reads how many base units `spender` may take from `owner`: one uint256."""
    return Call(token, call(_ALLOWANCE, address_word(owner), address_word(spender)))


def _canonical(token: str) -> str:
    return evm_address(token) if token.startswith("0x") else token
