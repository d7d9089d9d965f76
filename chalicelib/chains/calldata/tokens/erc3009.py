"""Transfers of a token that its holder signs and the receiver makes (ERC-3009), as USDC has them.

receiveWithAuthorization with the signature as bytes (version 2.2), 4 + 8 words of 32 bytes and the signature:

    88b7ab63 | from | to | value | valid after | valid before | nonce | 0xe0 | length of the signature | signature

Only `to` may make it, once for each nonce of `from`, strictly before `valid before`, in Unix seconds. The token asks
the code of an account that has some about the signature (ERC-1271), also of one that delegates (EIP-7702).
"""

from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import address_word, bytes_tail, call, members, typed_members, uint_word
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain, domain_of, domain_reads
from chalicelib.chains.calldata.transaction import Call, Transaction

_RECEIVE = bytes.fromhex("88b7ab63")
_AUTHORIZATION_STATE = bytes.fromhex("e94a0102")
AUTHORIZATION_USED = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
"""The first topic of AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)."""
TYPES = {
    "ReceiveWithAuthorization": members(
        "address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce"
    )
}


@frozen
class Authorization:
    """A transfer to be signed: its token with the EIP-712 domain, `value` in base units, `valid_before` in Unix
    seconds, and the nonce as 0x hex of 32 bytes."""

    token: str
    name: str
    token_version: str
    chain_id: int
    payer: str
    to: str
    value: int
    valid_before: int
    nonce: str


def reads(token: str, payer: str, nonce: str) -> tuple[Call, ...]:
    """The reads from which `domain` knows whether the token has transfers that are signed in this way."""
    used = Call(token, call(_AUTHORIZATION_STATE, address_word(payer), bytes.fromhex(nonce[2:])))
    return (*domain_reads(token), used)


def domain(returned: tuple[bytes | None, ...], token: str, chain_id: int) -> TokenDomain | None:
    """The domain to sign with, by what the token answered to `reads`; None if it has no such transfers, or the payer
    has used this nonce."""
    *known, used = returned
    if used != bytes(32):
        return None
    return domain_of(tuple(known), token, chain_id)


def typed_data(wanted: Authorization) -> dict[str, Any]:
    """ReceiveWithAuthorization as ethers takes it: `{domain, types, values}`, large numbers as text."""
    return {
        "domain": TokenDomain(wanted.token, wanted.name, wanted.token_version, wanted.chain_id).values,
        "types": {name: typed_members(listed) for name, listed in TYPES.items()},
        "values": {
            "from": wanted.payer,
            "to": wanted.to,
            "value": str(wanted.value),
            "validAfter": "0",
            "validBefore": str(wanted.valid_before),
            "nonce": wanted.nonce,
        },
    }


def receive(signed: Authorization, signature: bytes) -> Transaction:
    """The transfer, to be sent by its receiver."""
    words = (
        address_word(signed.payer),
        address_word(signed.to),
        uint_word(signed.value),
        uint_word(0),
        uint_word(signed.valid_before),
        bytes.fromhex(signed.nonce[2:]),
        uint_word(0xE0),
        bytes_tail(signature),
    )
    return Transaction(signed.token, call(_RECEIVE, *words), 0)
