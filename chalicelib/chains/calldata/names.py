"""ENS: what the universal resolver on mainnet is asked, what it answers, and what a gateway is asked for it (EIP-3668).

resolve    9061b923 | name (bytes, in DNS wire format) | data (bytes)     returns (bytes answer, address resolver)
reverse    5d78a217 | address (bytes) | coin type                         returns (string name, address, address)
addr       3b3b57de | node                                                returns an address
addr       f1cb7e06 | node | coin type                                    returns bytes
OffchainLookup  556f1830 | sender | urls | data | callback (bytes4) | extra data   an error: a gateway has the answer
query      a780bab6 | (sender, urls, data)[]                              returns (bool[] failed, bytes[] answers)

What resolvers and gateways answer is anybody's: it is read with limits, and is a ValueError if it has another form.
"""

from collections.abc import Sequence

from chalicelib.base.addresses import evm_address
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, call, read_uint, uint_word
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import UNIVERSAL_RESOLVER

ETHER = 60
"""The coin type of addresses on mainnet (ENSIP-9)."""
LOCAL_BATCH = "x-batch-gateway:true"
"""The URL that asks the client itself to put the questions of `query` (ENSIP-21)."""
MOST_URLS, MOST_QUESTIONS = 4, 4
"""How many URLs of a question are read, and how many questions of one `query`."""
_LONGEST_LABEL = 255
_RESOLVE = bytes.fromhex("9061b923")
_REVERSE = bytes.fromhex("5d78a217")
_ADDR = bytes.fromhex("3b3b57de")
_ADDR_OF_COIN = bytes.fromhex("f1cb7e06")
_OFFCHAIN_LOOKUP = bytes.fromhex("556f1830")
_QUERY = bytes.fromhex("a780bab6")
_NO_RESOLVER = tuple(map(bytes.fromhex, ("77209fe8", "1e9535f2", "7b1c461b")))
_ERROR = bytes.fromhex("08c379a0")
_FAILED_WITHOUT_A_WORD = bytes.fromhex("95c0c752") + uint_word(WORD) + uint_word(0)


@frozen
class Question:
    """What a gateway is asked: by the contract `sender`, at one of the URLs."""

    sender: str
    urls: tuple[str, ...]
    data: bytes


@frozen
class Lookup:
    """A question whose answer goes back to the contract: its function with the selector `callback`, with `extra`."""

    question: Question
    callback: bytes
    extra: bytes

    def call_with_answer(self, answer: bytes) -> Call:
        """The call with the gateway's answer: the answer and the extra data as `bytes`."""
        return Call(self.question.sender, call(self.callback, *_two_bytes(answer, self.extra)))


def coin_type(chain_id: int) -> int:
    """The coin type of addresses on an EVM network (ENSIP-11)."""
    return ETHER if chain_id == 1 else 0x80000000 | chain_id


def node_of(name: str) -> bytes:
    """The node of a normalized name (EIP-137): keccak256 over its labels, from the last to the first."""
    node = bytes(WORD)
    for label in reversed(name.split(".")):
        node = keccak256(node + keccak256(label.encode()))
    return node


def wire_format(name: str) -> bytes:
    """A name as DNS writes it: before each label its length, and a zero at the end. Raises ValueError for a label that
    is empty or too long."""
    labels = [label.encode() for label in name.split(".")]
    if not all(0 < len(label) <= _LONGEST_LABEL for label in labels):
        raise ValueError("a label has 1 to 255 bytes")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def resolve(name: str, coin: int) -> Call:
    """Asks for the address of a normalized name for a coin type."""
    words = [node_of(name)] if coin == ETHER else [node_of(name), uint_word(coin)]
    data = (_ADDR if coin == ETHER else _ADDR_OF_COIN) + b"".join(words)
    return Call(UNIVERSAL_RESOLVER, call(_RESOLVE, *_two_bytes(wire_format(name), data)))


def reverse(address: str, coin: int) -> Call:
    """Asks for the primary name of an address for a coin type (ENSIP-19)."""
    tail = bytes_tail(address_word(address)[12:])
    return Call(UNIVERSAL_RESOLVER, call(_REVERSE, uint_word(2 * WORD), uint_word(coin), tail))


def resolver_answer(returned: bytes) -> bytes:
    """What the resolver answered, of what `resolve` returned."""
    return _bytes_at(returned, read_uint(returned, 0))


def address_of(answer: bytes, coin: int) -> str | None:
    """The address in a resolver's answer for a coin type; None if it has none, which for ether is the zero address."""
    if not answer:
        return None
    if coin != ETHER:
        raw = _bytes_at(answer, read_uint(answer, 0))
    else:
        raw = read_uint(answer, 0).to_bytes(WORD, "big")
        if len(answer) != WORD or any(raw[:12]):
            raise ValueError("it is not an address")
        raw = raw[12:] if any(raw) else b""
    if not raw:
        return None
    if len(raw) != 20:
        raise ValueError("it is not an address")
    return evm_address("0x" + raw.hex())


def primary_name(returned: bytes) -> str:
    """The name of what `reverse` returned; empty if the address has none."""
    return _bytes_at(returned, read_uint(returned, 0)).decode()


def lookup_of(reverted: bytes) -> Lookup | None:
    """The lookup that a contract asks for by what it reverted with; None if it is another error."""
    if not reverted.startswith(_OFFCHAIN_LOOKUP):
        return None
    data = reverted[4:]
    sender, urls, question, callback, extra = (data[at : at + WORD] for at in range(0, 5 * WORD, WORD))
    if len(extra) != WORD or any(sender[:12]):
        raise ValueError("it is not a lookup")
    asked = Question(
        evm_address("0x" + sender[12:].hex()), _urls_at(data, _offset(urls)), _bytes_at(data, _offset(question))
    )
    return Lookup(asked, callback[:4], _bytes_at(data, _offset(extra)))


def has_no_address(reverted: bytes, coin: int) -> bool:
    """Whether a name has no resolver, or one that knows no addresses of the coin type: one that was written before
    there were others than ether fails without a word."""
    return reverted[:4] in _NO_RESOLVER or (coin != ETHER and reverted in (b"", _FAILED_WITHOUT_A_WORD))


def questions_of(data: bytes) -> tuple[Question, ...]:
    """The questions of a `query` to a batch gateway. At most MOST_QUESTIONS."""
    if not data.startswith(_QUERY):
        raise ValueError("it is not a query")
    body = data[4:]
    array = read_uint(body, 0)
    count, first = read_uint(body, array), array + WORD
    if count > MOST_QUESTIONS:
        raise ValueError("there are too many questions")
    return tuple(_question_at(body, first + read_uint(body, first + WORD * index)) for index in range(count))


def answers(given: Sequence[bytes | None]) -> bytes:
    """What `query` returns, None for a question without an answer, which is an error with a text."""
    failed = [uint_word(len(given)), *(uint_word(each is None) for each in given)]
    no_answer = _ERROR + uint_word(WORD) + bytes_tail(b"no answer")
    tails = [bytes_tail(no_answer if each is None else each) for each in given]
    offsets, offset = [], WORD * len(tails)
    for tail in tails:
        offsets.append(uint_word(offset))
        offset += len(tail)
    heads = uint_word(2 * WORD), uint_word(2 * WORD + WORD * len(failed))
    return b"".join((*heads, *failed, uint_word(len(tails)), *offsets, *tails))


def _question_at(data: bytes, start: int) -> Question:
    sender = read_uint(data, start).to_bytes(WORD, "big")[12:]
    urls = _urls_at(data, start + read_uint(data, start + WORD))
    return Question(evm_address("0x" + sender.hex()), urls, _bytes_at(data, start + read_uint(data, start + 2 * WORD)))


def _urls_at(data: bytes, start: int) -> tuple[str, ...]:
    count, first = read_uint(data, start), start + WORD
    offsets = (first + read_uint(data, first + WORD * index) for index in range(min(count, MOST_URLS)))
    return tuple(_bytes_at(data, each).decode() for each in offsets)


def _offset(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _bytes_at(data: bytes, start: int) -> bytes:
    length, begin = read_uint(data, start), start + WORD
    if begin + length > len(data):
        raise ValueError("the ABI data is shorter than it says")
    return data[begin : begin + length]


def _two_bytes(first: bytes, second: bytes) -> tuple[bytes, ...]:
    """The words of two arguments of the type `bytes`."""
    tail = bytes_tail(first)
    return uint_word(2 * WORD), uint_word(2 * WORD + len(tail)), tail, bytes_tail(second)
