"""Approvals that are signed instead of sent (EIP-2612), as USDC has them: the typed data, the call, and what is read.

permit, 4 + 7 words of 32 bytes:

    d505accf | owner | spender | value | deadline | v | r | s

Anybody may send a signed permit, and each nonce of the owner can be used once: so the call may fail because somebody
else was faster, and the allowance is there all the same.
"""

from typing import Any

from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.money import MAX_UINT256
from chalicelib.base.signatures import SIGNATURE_BYTES
from chalicelib.chains.calldata.abi import WORD, address_word, call, members, typed_members, uint_word
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain, domain_of, domain_reads
from chalicelib.chains.calldata.transaction import Call, Transaction

_PERMIT = bytes.fromhex("d505accf")
_NONCES = bytes.fromhex("7ecebe00")
TYPES = {"Permit": members("address owner, address spender, uint256 value, uint256 nonce, uint256 deadline")}


@frozen
class TokenPermit:
    """An approval of all of a token: its EIP-712 domain, and the values that its owner signs."""

    token: str
    name: str
    token_version: str
    chain_id: int
    owner: str
    spender: str
    nonce: int
    deadline: int


def reads(token: str, owner: str) -> tuple[Call, ...]:
    """The reads from which `permit_of` knows whether a token has permits."""
    return (*domain_reads(token), Call(token, call(_NONCES, address_word(owner))))


def permit_of(
    returned: tuple[bytes | None, ...], token: str, chain_id: int, owner: str, spender: str, deadline: int
) -> TokenPermit | None:
    """The permit to sign, by what the token answered to `reads`; None if it has none that is signed in this way."""
    *answers, nonce = returned
    domain = domain_of(tuple(answers), token, chain_id)
    if domain is None or nonce is None or len(nonce) != WORD:
        return None
    number = int.from_bytes(nonce, "big")
    return make_from(TokenPermit, domain, owner=owner, spender=spender, nonce=number, deadline=deadline)


def typed_data(permit: TokenPermit) -> dict[str, Any]:
    """What a wallet signs, as ethers takes it: `{domain, types, values}`."""
    return {
        "domain": TokenDomain(permit.token, permit.name, permit.token_version, permit.chain_id).values,
        "types": {name: typed_members(listed) for name, listed in TYPES.items()},
        "values": {
            "owner": permit.owner,
            "spender": permit.spender,
            "value": str(MAX_UINT256),
            "nonce": str(permit.nonce),
            "deadline": permit.deadline,
        },
    }


def permit_transaction(signed: TokenPermit, signature: bytes) -> Transaction:
    """Makes a signed approval. Raises ValueError for a signature that has not 65 bytes; v may be 0, 1, 27 or 28."""
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"the signature of a token's permit has {SIGNATURE_BYTES} bytes")
    words = (
        address_word(signed.owner),
        address_word(signed.spender),
        uint_word(MAX_UINT256),
        uint_word(signed.deadline),
        uint_word(27 + signature[64] % 27),
        signature[:WORD],
        signature[WORD : 2 * WORD],
    )
    return Transaction(signed.token, call(_PERMIT, *words), 0)
