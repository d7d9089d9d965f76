"""The EIP-712 domain of a token whose approvals and transfers can be signed (EIP-2612, ERC-3009), and its reads."""

from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import domain_separator
from chalicelib.chains.calldata.abi import WORD, call, read_uint
from chalicelib.chains.calldata.transaction import Call

_NAME, _VERSION = bytes.fromhex("06fdde03"), bytes.fromhex("54fd4d50")
_DOMAIN_SEPARATOR = bytes.fromhex("3644e515")
_LONGEST_NAME = 64
_DEFAULT_VERSION = "1"
"""Of tokens whose contract has no `version`, as those made with OpenZeppelin's ERC20Permit."""


@frozen
class TokenDomain:
    """The domain of what is signed for a token."""

    token: str
    name: str
    token_version: str
    chain_id: int

    @property
    def values(self) -> dict[str, Any]:
        """The domain as wallets take it."""
        return {
            "name": self.name,
            "version": self.token_version,
            "chainId": self.chain_id,
            "verifyingContract": self.token,
        }


def domain_reads(token: str) -> tuple[Call, Call, Call]:
    """The reads from which `domain_of` knows the domain of a token."""
    name, version, separator = (Call(token, call(each)) for each in (_NAME, _VERSION, _DOMAIN_SEPARATOR))
    return name, version, separator


def domain_of(returned: tuple[bytes | None, ...], token: str, chain_id: int) -> TokenDomain | None:
    """The domain by what the token answered to `domain_reads`; None if it has none, or another than it says.

    It is the one that the token itself computes: with another one no signature would be valid.
    """
    name, version, separator = returned
    if name is None or separator is None or len(separator) != WORD:
        return None
    name_text = _text(name)
    version_text = _DEFAULT_VERSION if version is None else _text(version)
    if name_text is None or version_text is None:
        return None
    domain = TokenDomain(token, name_text, version_text, chain_id)
    return domain if domain_separator(domain.values) == separator else None


def _text(returned: bytes) -> str | None:
    """The text that a contract returned; None if it is not one, or a long one."""
    try:
        start = read_uint(returned, 0)
        length = read_uint(returned, start)
        raw = returned[start + WORD : start + WORD + length]
        return raw.decode() if length == len(raw) <= _LONGEST_NAME else None
    except (ValueError, UnicodeDecodeError):
        return None
