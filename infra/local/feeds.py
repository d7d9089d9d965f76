"""Price feeds of a local chain: doubles of Chainlink's aggregators, known to the contracts that rates are taken from.

AggregatorMock of the npm package answers what is in its storage: the number of decimals (slot 0), the answer (slot 1)
and how many seconds before the block it was updated (slot 2, 255 at most).
"""

from chalicelib.base.addresses import address_bytes
from chalicelib.base.keccak import keccak256
from chalicelib.catalogue.contracts import ERC20_CONVERSION_RATES, NATIVE_CONVERSION_RATES, address_of
from chalicelib.catalogue.tokens import Token
from infra.local.bytecode import creation_code
from infra.local.chain import Chain

_MOCK = "AggregatorMock"
_AGGREGATORS_SLOT = 2  # of ChainlinkConversionPath: mapping(input => mapping(output => aggregator))
DECIMALS = 8


def set_feed(chain: Chain, base: Token, quote: Token, answer: int, age: int = 0) -> str:
    """Sets what one unit of `base` costs in `quote`, with 8 decimals; returns the address of the feed.

    The contracts use a feed in both directions. `age` is in seconds, 255 at most.
    """
    feed = "0x" + keccak256(f"{base.id}/{quote.id}".encode())[-20:].hex()
    if chain.rpc("eth_getCode", feed, "latest") == "0x":
        chain.etch(creation_code(_MOCK) + _word(1) + _word(DECIMALS) + _word(0), [feed])
    slots = (DECIMALS, answer % 2**256, age)
    writes = [(feed, f"0x{slot:064x}", f"0x{value:064x}") for slot, value in enumerate(slots)]
    for contract in {address_of(name, chain.network) for name in (ERC20_CONVERSION_RATES, NATIVE_CONVERSION_RATES)}:
        writes.append((contract, _aggregator_slot(base, quote), "0x" + feed[2:].rjust(64, "0")))
    chain.batch([("anvil_setStorageAt", *write) for write in writes])
    return feed


def _aggregator_slot(base: Token, quote: Token) -> str:
    inner = keccak256(_key(base) + _AGGREGATORS_SLOT.to_bytes(32))
    return "0x" + keccak256(_key(quote) + inner).hex()


def _key(currency: Token) -> bytes:
    return address_bytes(currency.hash).rjust(32, b"\0")


def _word(value: int) -> str:
    return f"{value:064x}"
