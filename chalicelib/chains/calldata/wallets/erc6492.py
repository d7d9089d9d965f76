"""ERC-6492: checks by one eth_call whether a contract wallet, deployed or not, accepts a signature.

    call data  creation code of a validator | address wallet, bytes32 digest, bytes signature
    signature  abi.encode(address factory, bytes factory call, bytes signature) | 6492...6492

The eth_call creates the validator, which returns 01 or 00 in place of its code. The validator calls the factory, which
deploys the wallet for the duration of the eth_call, then the wallet's isValidSignature (ERC-1271). If the wallet is
deployed, the factory is called only if the wallet does not accept the signature, and the wallet is asked again.

The signature names the factory and the call, so they are anybody's. The call comes from the validator, which has no
rights anywhere: it changes only what any address could change on chain.
"""

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, uint_word
from chalicelib.chains.catalogue.data import load

GAS = 10_000_000
"""Enough to deploy a wallet and check a signature; limits how much work the wallet's code can cost the node."""

SENDER = "0x20df764c263508f1c7cf0c9b9936a22383cdc715"
"""The sender of the eth_call: the end of keccak256("nobody signs for this sender"), so nobody has its key.

Without a sender tx.origin would be the zero address. Some wallets do not check signatures then, because such a call can
only be an estimate (early ERC-4337 accounts). A stranger's factory call could change their owner.
"""

MAGIC_SUFFIX = bytes.fromhex("6492" * 16)


def validation(wallet: str, digest: bytes, signature: bytes) -> str:
    """The data of the eth_call, which has no `to`, as 0x hex.

    A signature without the magic suffix is wrapped with an empty factory call. Without it the validator would
    check the signature as that of a key, and accept a high s, or any signature for the zero address.
    """
    wrapped = signature if signature.endswith(MAGIC_SUFFIX) else wrap(ZERO_ADDRESS, b"", signature)
    arguments = address_word(wallet) + digest + uint_word(3 * WORD) + bytes_tail(wrapped)
    return str(load("erc6492")["validator"]) + arguments.hex()


def wrap(factory: str, call: bytes, signature: bytes) -> bytes:
    """The ERC-6492 signature of a wallet that this call to its factory deploys."""
    tail = bytes_tail(call)
    head = address_word(factory) + uint_word(3 * WORD) + uint_word(3 * WORD + len(tail))
    return head + tail + bytes_tail(signature) + MAGIC_SUFFIX


def factory_of(signature: bytes) -> str | None:
    """The factory that an ERC-6492 signature names, in lower case; None for any other signature."""
    if not signature.endswith(MAGIC_SUFFIX):
        return None
    return "0x" + signature[WORD - 20 : WORD].hex()
