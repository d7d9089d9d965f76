"""Price feeds of a local chain: doubles of Chainlink's aggregators, known to the contracts that rates are taken from.

A feed answers one value, updated every minute (`set_feed`), or the rounds of a list (`set_rounds`). Source (MIT),
compiled by npm's solc 0.8.30 with optimizer runs 1, EVM version paris, no metadata:

    contract FeedDouble {
        uint8 public decimals;
        int256 answer;
        uint256 age;
        uint256 count;
        mapping(uint256 => Round) rounds;

        struct Round { int256 answer; uint256 updatedAt; }

        uint256 constant PHASE = 1 << 64;

        function latestRoundData() public view returns (uint80, int256, uint256, uint256, uint80) {
            return getRoundData(uint80(PHASE | (count == 0 ? (block.timestamp - age) / 60 : count)));
        }

        function getRoundData(uint80 id) public view returns (uint80, int256, uint256, uint256, uint80) {
            uint256 number = uint64(id);
            require(id >> 64 == 1 && number <= (count == 0 ? (block.timestamp - age) / 60 : count) && number > 0);
            Round memory round = count == 0 ? Round(answer, number * 60) : rounds[number];
            return (id, round.answer, round.updatedAt, round.updatedAt, id);
        }

        function latestAnswer() external view returns (int256 value) {
            (, value, , , ) = latestRoundData();
        }

        function latestTimestamp() external view returns (uint256 time) {
            if (count == 0) return block.timestamp - age;
            (, , , time, ) = latestRoundData();
        }
    }
"""

from collections.abc import Sequence

from chalicelib.base.addresses import address_bytes
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.contracts import ERC20_CONVERSION_RATES, NATIVE_CONVERSION_RATES, address_of
from chalicelib.chains.catalogue.tokens import Token
from infra.local.chain import Chain

DECIMALS = 8
_DECIMALS_SLOT, _ANSWER_SLOT, _AGE_SLOT, _COUNT_SLOT, _ROUNDS_SLOT = range(5)
_AGGREGATORS_SLOT = 2  # of ChainlinkConversionPath: mapping(input => mapping(output => aggregator))
_CREATION = (
    "0x"
    "6080604052348015600f57600080fd5b506102f68061001f6000396000f3fe608060405234801561001057600080fd5b5060043610610057"
    "5760003560e01c8063313ce5671461005c57806350d25bcd146100805780638205bf6a146100965780639a6fc8f51461009e578063feaf96"
    "8c146100e5575b600080fd5b6000546100699060ff1681565b60405160ff90911681526020015b60405180910390f35b6100886100ed565b"
    "604051908152602001610077565b610088610101565b6100b16100ac36600461025e565b610130565b604080516001600160501b03968716"
    "815260208101959095528401929092526060830152909116608082015260a001610077565b6100b161020b565b60006100f761020b565b50"
    "91949350505050565b600060035460000361011f5760025461011a90426102a4565b905090565b61012761020b565b50949350505050565b"
    "6000808080806001600160401b038616600161ffff604089901c161480156101815750600354156101635760035461017d565b603c600254"
    "4261017391906102a4565b61017d91906102bd565b8111155b801561018d5750600081115b61019657600080fd5b60006003546000146101"
    "cd5760008281526004602090815260409182902082518084019093528054835260010154908201526101f0565b6040518060400160405280"
    "600154815260200183603c6101ed91906102df565b90525b80516020909101519899909897508796508995509350505050565b6000806000"
    "80600061024d60035460001461022857600354610242565b603c6002544261023891906102a4565b61024291906102bd565b600160401b17"
    "610130565b945094509450945094509091929394565b60006020828403121561027057600080fd5b81356001600160501b03811681146102"
    "8757600080fd5b9392505050565b634e487b7160e01b600052601160045260246000fd5b818103818111156102b7576102b761028e565b92"
    "915050565b6000826102da57634e487b7160e01b600052601260045260246000fd5b500490565b80820281158282048414176102b7576102"
    "b761028e56"
)


def set_feed(chain: Chain, base: Token, quote: Token, answer: int, age: int = 0) -> str:
    """Sets what one unit of `base` costs in `quote`, with 8 decimals; returns the address of the feed.

    The contracts use a feed in both directions. `age` is how many seconds ago it was updated, at any time.
    """
    feed = _install_feed(chain, base, quote)
    slots = {_DECIMALS_SLOT: DECIMALS, _ANSWER_SLOT: answer, _AGE_SLOT: age, _COUNT_SLOT: 0}
    _write(chain, feed, slots)
    return feed


def set_rounds(chain: Chain, base: Token, quote: Token, rounds: Sequence[tuple[int, int]]) -> str:
    """Sets the rounds of a feed, oldest first, each with its answer and the Unix time of its update."""
    feed = _install_feed(chain, base, quote)
    slots = {_DECIMALS_SLOT: DECIMALS, _COUNT_SLOT: len(rounds)}
    for number, (answer, updated_at) in enumerate(rounds, start=1):
        slot = int.from_bytes(keccak256(number.to_bytes(32) + _ROUNDS_SLOT.to_bytes(32)))
        slots |= {slot: answer, slot + 1: updated_at}
    _write(chain, feed, slots)
    return feed


def _install_feed(chain: Chain, base: Token, quote: Token) -> str:
    """The feed of two currencies, put in place if it is not there, and known to the contracts."""
    feed = "0x" + keccak256(f"{base.id}/{quote.id}".encode())[-20:].hex()
    if chain.rpc("eth_getCode", feed, "latest") == "0x":
        chain.etch(_CREATION, [feed])
    for contract in {address_of(name, chain.network) for name in (ERC20_CONVERSION_RATES, NATIVE_CONVERSION_RATES)}:
        _write(chain, contract, {_aggregator_slot(base, quote): int(feed, 16)})
    return feed


def _write(chain: Chain, contract: str, slots: dict[int, int]) -> None:
    words = ((f"0x{slot:064x}", f"0x{value % 2**256:064x}") for slot, value in slots.items())
    chain.batch([("anvil_setStorageAt", contract, *each) for each in words])


def _aggregator_slot(base: Token, quote: Token) -> int:
    inner = keccak256(_key(base) + _AGGREGATORS_SLOT.to_bytes(32))
    return int.from_bytes(keccak256(_key(quote) + inner))


def _key(currency: Token) -> bytes:
    return address_bytes(currency.hash).rjust(32, b"\0")
