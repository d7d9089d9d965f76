"""ERC-6492: the question whether a contract wallet, deployed or not yet, stands by a signature.

    question   creation code of a validator | address wallet, bytes32 digest, bytes signature
    signature  abi.encode(address factory, bytes factory call, bytes signature) | 6492...6492

The question is an eth_call that creates a contract: instead of its code the validator returns 01 or 00. It calls the
factory (that deploys the wallet, within this eth_call alone), then the wallet's isValidSignature (ERC-1271).
"""

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.calldata.abi import WORD, address_word, bytes_tail, uint_word
from chalicelib.catalogue.data import load

GAS = 10_000_000
"""More than a wallet needs to be deployed and asked, less than what a stranger's contract could burn at our node."""

MARK = bytes.fromhex("6492" * 16)


def validation(wallet: str, digest: bytes, signature: bytes) -> str:
    """The data of the eth_call, which has no `to`, as 0x hex.

    A signature without the mark gets it, around a call to nobody. Unmarked, the validator would recover an EOA's
    signature by rules of its own: it accepts a high s, and anything at all for the zero address.
    """
    marked = signature if signature.endswith(MARK) else wrapped(ZERO_ADDRESS, b"", signature)
    arguments = address_word(wallet) + digest + uint_word(3 * WORD) + bytes_tail(marked)
    return str(load("erc6492")["validator"]) + arguments.hex()


def wrapped(factory: str, call: bytes, signature: bytes) -> bytes:
    """The signature of a wallet that this call to its factory deploys."""
    tail = bytes_tail(call)
    head = address_word(factory) + uint_word(3 * WORD) + uint_word(3 * WORD + len(tail))
    return head + tail + bytes_tail(signature) + MARK
