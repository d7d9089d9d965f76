"""ERC-20 tokens (TRC-20 alike): approvals and transfers to sign, balances and allowances to read.

approve       095ea7b3 | spender | amount
transferFrom  23b872dd | owner | recipient | amount
balanceOf     70a08231 | owner
allowance     dd62ed3e | owner | spender
"""

from chalicelib.base.addresses import evm_address
from chalicelib.calldata.abi import address_word, call, uint_word
from chalicelib.calldata.transaction import Call, Transaction

_APPROVE = bytes.fromhex("095ea7b3")
_TRANSFER_FROM = bytes.fromhex("23b872dd")
_BALANCE_OF = bytes.fromhex("70a08231")
_ALLOWANCE = bytes.fromhex("dd62ed3e")


def approve(token: str, spender: str, amount: int) -> Transaction:
    """Lets `spender` take up to `amount` base units; 0 withdraws an allowance that is there."""
    return Transaction(_spelled(token), call(_APPROVE, address_word(spender), uint_word(amount)), 0)


def transfer_from(token: str, owner: str, recipient: str, amount: int) -> Transaction:
    """Moves base units of `owner`, who has allowed the sender that much, to the recipient."""
    words = address_word(owner), address_word(recipient), uint_word(amount)
    return Transaction(_spelled(token), call(_TRANSFER_FROM, *words), 0)


def balance_of(token: str, owner: str) -> Call:
    """Asks a token how many base units `owner` holds; the answer is one uint256."""
    return Call(token, call(_BALANCE_OF, address_word(owner)))


def allowance(token: str, owner: str, spender: str) -> Call:
    """Asks a token how many base units of `owner` `spender` may take; the answer is one uint256."""
    return Call(token, call(_ALLOWANCE, address_word(owner), address_word(spender)))


def _spelled(token: str) -> str:
    return evm_address(token) if token.startswith("0x") else token
