"""Payee destinations: wallet, chain and token in one id, after ERC-7930 and ERC-7828.

    binary        0x0001 | chain type 0000 | length | chain id, big-endian minimal | 14 | 20 address bytes
    checksum      first 4 bytes of keccak256(binary without its version 0x0001), upper-case hex
    address       <wallet>@eip155:<chain id>#<checksum>
    destination   <address>:<token address>

No public profile says how Tron enters the binary: the text stays base58 under `eip155:728126428`, and the
20 bytes that Tron shares with EVM chains are hashed.
"""

import re
from dataclasses import dataclass

from chalicelib.base.addresses import address_bytes, address_of_family, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.keccak import keccak256
from chalicelib.catalogue.networks import network_of_chain
from chalicelib.catalogue.tokens import token_at

_VERSION = bytes.fromhex("0001")
_EIP155 = bytes.fromhex("0000")
_INTEROP_ADDRESS = re.compile(r"([0-9A-Za-z]+)@eip155:([1-9][0-9]{0,31})(?:#([0-9A-F]{8}))?")


@dataclass(frozen=True, eq=False)
class Destination:
    """Where money goes: a wallet on a chain, in one token (a native coin is named by its hash).

    Destinations are equal when they mean the same: EVM addresses ignore case, Tron addresses do not.
    """

    wallet: str
    chain_id: int
    token_address: str

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Destination)
            and self.chain_id == other.chain_id
            and same_address(self.wallet, other.wallet)
            and same_address(self.token_address, other.token_address)
        )

    def __hash__(self) -> int:
        return hash((address_bytes(self.wallet), self.chain_id, address_bytes(self.token_address)))


@dataclass(frozen=True)
class ParsedDestination:
    """A destination as it was read; `checksum_ok` is False when the id carried a checksum that does not match."""

    destination: Destination
    checksum_ok: bool


def destination_id(destination: Destination) -> str:
    """`<wallet>@eip155:<chain id>#<checksum>:<token address>`."""
    return f"{interop_address(destination.wallet, destination.chain_id)}:{destination.token_address}"


def interop_address(wallet: str, chain_id: int) -> str:
    """The human-readable interoperable address `<wallet>@eip155:<chain id>#<checksum>`, an EVM wallet in EIP-55."""
    wallet = address_of_family(wallet, _family(chain_id))
    return f"{wallet}@eip155:{chain_id}#{checksum(interop_binary(wallet, chain_id))}"


def interop_binary(wallet: str, chain_id: int) -> bytes:
    """The binary interoperable address of ERC-7930, for a wallet that was checked."""
    reference = chain_id.to_bytes((chain_id.bit_length() + 7) // 8, "big")
    raw = address_bytes(wallet)
    return b"".join((_VERSION, _EIP155, bytes([len(reference)]), reference, bytes([len(raw)]), raw))


def checksum(binary: bytes) -> str:
    """The 8 upper-case hex digits of ERC-7828 over a binary interoperable address."""
    return keccak256(binary[len(_VERSION) :])[:4].hex().upper()


def parse_destination_id(text: str, strict: bool) -> ParsedDestination:
    """Reads a destination id; the addresses come back in their canonical spelling, the token's as catalogued.

    Raises BadRequest `Invalid destination ID format` for anything outside the grammar, and when `strict` also
    for a checksum that does not match. A missing checksum is accepted. The chain may be one we do not serve.
    """
    interop, separator, token_text = text.rpartition(":")  # the last colon: `eip155:8453` has one of its own
    match = _INTEROP_ADDRESS.fullmatch(interop)
    if not separator or match is None:
        raise _malformed()
    wallet_text, chain_text, given = match.groups()
    chain_id = int(chain_text)
    family = _family(chain_id)
    try:
        wallet, token_address = address_of_family(wallet_text, family), address_of_family(token_text, family)
    except BadRequest as error:
        raise _malformed() from error
    checksum_ok = given is None or given == checksum(interop_binary(wallet, chain_id))
    if strict and not checksum_ok:
        raise _malformed()
    return ParsedDestination(Destination(wallet, chain_id, _catalogued(chain_id, token_address)), checksum_ok)


def _malformed() -> BadRequest:
    return BadRequest("Invalid destination ID format")


def _family(chain_id: int) -> str:
    chain = network_of_chain(chain_id)
    return chain.family if chain else "evm"


def _catalogued(chain_id: int, address: str) -> str:
    chain = network_of_chain(chain_id)
    listed = token_at(chain.name, address) if chain else None
    return listed.address if listed else address
