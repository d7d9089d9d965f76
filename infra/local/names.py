"""ENS on a local mainnet chain: a double of the universal resolver, and a resolver whose records anybody may set."""

from collections.abc import Mapping

from chalicelib.base.addresses import address_bytes
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, call, uint_word
from chalicelib.chains.calldata.names import ETHER, node_of
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER
from infra.local.bytecode import DEPLOYER
from infra.local.chain import Chain
from infra.local.compiling import compile_contract

RESOLVER = "0x231b0Ee14048e9dCcD1d247744d114a4EB5E8E63"
"""Where the public resolver of ENS is on mainnet."""
DEMO_NAME, DEMO_PAYEE = "shop.eth", "0x18E958B85a9b940E17D70EF6727bA2C923ED5D1F"
"""A name that the local stack knows, and whose address names itself so."""


def install_names(chain: Chain) -> None:
    """Puts the contracts in place, and registers the name of the demo, unless the chain has them already."""
    if chain.rpc("eth_getCode", UNIVERSAL_RESOLVER, "latest") != "0x":
        return
    chain.etch(compile_contract("UniversalResolver"), [UNIVERSAL_RESOLVER])
    chain.etch(compile_contract("NameResolver"), [RESOLVER])
    register(chain, DEMO_NAME, {ETHER: DEMO_PAYEE})
    set_primary(chain, DEMO_PAYEE, DEMO_NAME)


def register(chain: Chain, name: str, addresses: Mapping[int, str]) -> None:
    """Gives a name addresses, by their coin types."""
    set_resolver(chain, name, RESOLVER)
    for coin, address in addresses.items():
        set_record(chain, name, coin, address_bytes(address))


def set_record(chain: Chain, name: str, coin: int, raw: bytes) -> None:
    words = node_of(name), uint_word(coin), uint_word(3 * WORD), bytes_tail(raw)
    _send(chain, RESOLVER, "setAddr(bytes32,uint256,bytes)", *words)


def set_resolver(chain: Chain, name: str, resolver: str) -> None:
    _send(chain, UNIVERSAL_RESOLVER, "setResolver(bytes32,address)", node_of(name), address_word(resolver))


def set_primary(chain: Chain, address: str, name: str, coin: int = ETHER) -> None:
    """Has an address name itself, by its reverse record for a coin type."""
    first = bytes_tail(address_bytes(address))
    words = uint_word(3 * WORD), uint_word(coin), uint_word(3 * WORD + len(first)), first, bytes_tail(name.encode())
    _send(chain, UNIVERSAL_RESOLVER, "setPrimaryName(bytes,uint256,string)", *words)


def gateway_resolver(chain: Chain, url: str, asks_again: bool = False) -> str:
    """Deploys a resolver whose answers come from a gateway; returns its address."""
    resolver = chain.deploy(compile_contract("NameResolver"))
    words = uint_word(2 * WORD), uint_word(asks_again), bytes_tail(url.encode())
    _send(chain, resolver, "setGateway(string,bool)", *words)
    return resolver


def _send(chain: Chain, to: str, function: str, *words: bytes) -> None:
    data = call(keccak256(function.encode())[:4], *words)
    sent = chain.send_as(DEPLOYER, {"to": to, "data": data})
    receipt = chain.receipt(sent)
    assert int(receipt["status"], 16) == 1, f"{function} failed"
