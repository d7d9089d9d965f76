"""The universal resolver of ENS, without a chain: addresses and primary names that a test sets."""

from collections.abc import Callable
from dataclasses import dataclass, field

from eth_abi import decode, encode

from chalicelib.chains.calldata.names import ETHER, node_of
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER
from chalicelib.chains.nodes.names.reads import Answer

_NO_RESOLVER = bytes.fromhex("77209fe8") + encode(["bytes"], [b""])


@dataclass
class FakeNames:
    """`addresses` by name, and by coin type where it is not that of ether; `primary` names by address.

    `before` is called before each answer; `asked` counts them.
    """

    addresses: dict[str | tuple[str, int], str] = field(default_factory=dict)
    primary: dict[str, str] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    asked: int = 0

    def ask(self, read: Call) -> Answer:
        self.asked += 1
        self.before()
        assert read.to == UNIVERSAL_RESOLVER
        selector, body = read.data[2:10], bytes.fromhex(read.data[10:])
        if selector == "5d78a217":
            address, _ = decode(["bytes", "uint256"], body)
            name = self.primary.get("0x" + address.hex(), "")
            return Answer(encode(["string", "address", "address"], [name, UNIVERSAL_RESOLVER, UNIVERSAL_RESOLVER]))
        assert selector == "9061b923"
        _, data = decode(["bytes", "bytes"], body)
        coin = int.from_bytes(data[36:68], "big") if len(data) > 36 else ETHER
        for key, address in self.addresses.items():
            name, of = key if isinstance(key, tuple) else (key, ETHER)
            if (node_of(name), of) == (data[4:36], coin):
                raw = bytes.fromhex(address[2:])
                answer = encode(["address"], [raw]) if coin == ETHER else encode(["bytes"], [raw])
                return Answer(encode(["bytes", "address"], [answer, UNIVERSAL_RESOLVER]))
        return Answer(None, _NO_RESOLVER)
