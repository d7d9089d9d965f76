"""Destination ids: wallet, chain and token of a payee in one text, based on ERC-7930 and ERC-7828.

    binary        0x0001 | chain type 0000 | length | chain id, big-endian minimal | 14 | 20 address bytes
    checksum      first 4 bytes of keccak256(binary without its version 0x0001), upper-case hex
    address       <wallet>@eip155:<chain id>#<checksum>
    destination   <address>:<token address>

No published profile defines the binary of a Tron address. We write the wallet in base58 under `eip155:728126428`, and
put its 20 bytes (without the prefix 0x41) into the binary.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from chalicelib.base.addresses import address_bytes, address_of_family, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.chains.catalogue.tokens import token_at

_VERSION = bytes.fromhex("0001")
_EIP155 = bytes.fromhex("0000")
_INTEROP_ADDRESS = re.compile(r"([0-9A-Za-z]+)@eip155:([1-9][0-9]{0,31})(?:#([0-9A-Fa-f]{8}))?")


@dataclass(frozen=True, eq=False)
class Destination:
    """A wallet on a chain that receives one token; a native coin is named by its hash.

    EVM addresses are compared without case, Tron addresses exactly.
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


@frozen
class ParsedDestination:
    """The destination of an id. `checksum_ok` is False if the id has a checksum that does not match."""

    destination: Destination
    checksum_ok: bool


def destination_id(destination: Destination) -> str:
    """`<wallet>@eip155:<chain id>#<checksum>:<token address>`."""
    return f"{interop_address(destination.wallet, destination.chain_id)}:{destination.token_address}"


@lru_cache(maxsize=1_000)
def interop_address(wallet: str, chain_id: int) -> str:
    """`<wallet>@eip155:<chain id>#<checksum>`, the wallet in EIP-55 or base58. Raises BadRequest for another wallet."""
    wallet = address_of_family(wallet, _family(chain_id))
    return f"{wallet}@eip155:{chain_id}#{checksum(interop_binary(wallet, chain_id))}"


def interop_binary(wallet: str, chain_id: int) -> bytes:
    """The binary interoperable address of ERC-7930, for a valid wallet address."""
    reference = chain_id.to_bytes((chain_id.bit_length() + 7) // 8, "big")
    raw = address_bytes(wallet)
    return b"".join((_VERSION, _EIP155, bytes([len(reference)]), reference, bytes([len(raw)]), raw))


def checksum(binary: bytes) -> str:
    """The checksum of ERC-7828 for a binary interoperable address: 8 upper-case hex digits."""
    return keccak256(binary[len(_VERSION) :])[:4].hex().upper()


def parse_destination_id(text: str, strict: bool) -> ParsedDestination:
    """Parses a destination id. Addresses are returned in their canonical spelling, listed tokens as in the catalogue.

    Raises BadRequest `Invalid destination ID format` for any text outside the grammar and, if `strict`, for a checksum
    that does not match. The checksum may be missing or in either case, and the chain may be one that the service does
    not support.
    """
    interop, separator, token_text = text.rpartition(":")  # the last colon, as `eip155:8453` contains one
    match = _INTEROP_ADDRESS.fullmatch(interop)
    if not separator or match is None:
        raise _malformed_id()
    wallet_text, chain_text, checksum_text = match.groups()
    chain_id = int(chain_text)
    family = _family(chain_id)
    try:
        wallet, token_address = address_of_family(wallet_text, family), address_of_family(token_text, family)
    except BadRequest as error:
        raise _malformed_id() from error
    checksum_ok = checksum_text is None or checksum_text.upper() == checksum(interop_binary(wallet, chain_id))
    if strict and not checksum_ok:
        raise _malformed_id()
    return ParsedDestination(Destination(wallet, chain_id, _as_listed(chain_id, token_address)), checksum_ok)


def _malformed_id() -> BadRequest:
    return BadRequest("Invalid destination ID format")


def _family(chain_id: int) -> str:
    chain = network_of_chain(chain_id)
    return chain.family if chain else "evm"


def _as_listed(chain_id: int, address: str) -> str:
    """The token address in the catalogue's spelling; unchanged for a token that is not listed."""
    chain = network_of_chain(chain_id)
    token = token_at(chain.name, address) if chain else None
    return token.address if token else address
