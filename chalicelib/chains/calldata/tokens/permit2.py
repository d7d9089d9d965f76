"""Payments through Permit2: the typed data that a payer signs, and the call by which the executor takes the tokens.

permitWitnessTransferFrom, of three amounts of one token:

    fe8ec1a7
    000  0xc0: offset of the permit
    020  0x200: offset of the transfers
    040  owner of the tokens, who has signed
    060  hash of the witness
    080  0x2e0: offset of the type of the witness
    0a0  offset of the signature
    0c0  permit: 0x60 | nonce | deadline | 3 | three times token, most
    200  transfers: 3 | three times recipient, amount
    2e0  type of the witness, as text: length and bytes, padded to whole words
         signature: length and bytes, padded

Only the spender may make the call, each nonce can be used once, and each amount is at most what was signed.
"""

from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import member_word
from chalicelib.chains.calldata.abi import address_word, bytes_tail, call, members, typed_members, uint_word
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of

_TAKE = bytes.fromhex("fe8ec1a7")
_PERMIT = "PermitBatchWitnessTransferFrom"
TYPES: dict[str, tuple[tuple[str, str], ...]] = {
    _PERMIT: members(
        "TokenPermissions[] permitted, address spender, uint256 nonce, uint256 deadline, PaymentIntent witness"
    ),
    "TokenPermissions": members("address token, uint256 amount"),
    "PaymentIntent": members(
        "uint8 payment_type, OperatorData operator_data, uint256 amount, Domain source, Domain destination, "
        "uint256 processing_date, uint256 expires_at"
    ),
    "OperatorData": members("bytes32 operatorId, address operator, address treasury_account, uint256 fee"),
    "Domain": members("address account, uint256 network_id, address payment_token"),
}
"""Names and types of the members, in the order of the published example (supplement of the interface, 5.2)."""
_PARTS = 3
_COPIED_AFTER = 0xC0


@frozen
class End:
    """One end of a payment: whose account, on which chain, and its token there."""

    account: str
    chain_id: int
    token: str


@frozen
class PaymentPermit:
    """What a payer signs: the `spender` may take up to `net` and `fee` base units of the source's token, once.

    The contract accepts it until `deadline`, in seconds of Unix time. `operator_id` (0x and 64 digits) names the
    payment; nothing on the chain reads it, `destination` or `processing_date`, but the signature covers them.
    """

    network: str
    source: End
    destination: End
    net: int
    fee: int
    spender: str
    nonce: int
    deadline: int
    processing_date: int
    operator_id: str

    @property
    def most(self) -> int:
        """What can be taken at most, in base units."""
        return self.net + self.fee


def typed_data(permit: PaymentPermit) -> dict[str, Any]:
    """What a wallet signs, as ethers takes it: `{domain, types, values}`, numbers as text.

    Raises LookupError if the network has no Permit2.
    """
    contract = address_of(PERMIT2, permit.network)
    token = permit.source.token
    return {
        "domain": {"name": PERMIT2, "chainId": permit.source.chain_id, "verifyingContract": contract},
        "types": {name: typed_members(listed) for name, listed in TYPES.items()},
        "values": {
            "permitted": [{"token": token, "amount": str(amount)} for amount in _amounts_of(permit)],
            "spender": permit.spender,
            "nonce": str(permit.nonce),
            "deadline": str(permit.deadline),
            "witness": _witness(permit),
        },
    }


def take(permit: PaymentPermit, amount: int, signature: bytes) -> Transaction:
    """Takes `amount` base units from the payer for the spender, who sends this. With 0 the contract only checks.

    Raises LookupError if the network has no Permit2, ValueError for more than was signed.
    """
    if not 0 <= amount <= permit.most:
        raise ValueError(f"{amount} is more than the payer has signed")
    net = min(amount, permit.net)
    permitted, taken = _amounts_of(permit), (net, 0, amount - net)
    token = address_word(permit.source.token)
    batch = uint_word(0x60) + uint_word(permit.nonce) + uint_word(permit.deadline) + uint_word(_PARTS)
    batch += b"".join(token + uint_word(each) for each in permitted)
    transfers = uint_word(_PARTS) + b"".join(address_word(permit.spender) + uint_word(each) for each in taken)
    kind = bytes_tail(_witness_type().encode())
    offsets = [_COPIED_AFTER, _COPIED_AFTER + len(batch), _COPIED_AFTER + len(batch) + len(transfers)]
    data = call(
        _TAKE,
        uint_word(offsets[0]),
        uint_word(offsets[1]),
        address_word(permit.source.account),
        _struct_hash("PaymentIntent", _witness(permit)),
        uint_word(offsets[2]),
        uint_word(offsets[2] + len(kind)),
        batch,
        transfers,
        kind,
        bytes_tail(signature),
    )
    return Transaction(address_of(PERMIT2, permit.network), data, 0)


def _amounts_of(permit: PaymentPermit) -> tuple[int, int, int]:
    """The three amounts that are signed; the second one is never used."""
    return permit.net, 0, permit.fee


def _witness(permit: PaymentPermit) -> dict[str, Any]:
    return {
        "payment_type": 0,
        "operator_data": {
            "operatorId": permit.operator_id,
            "operator": permit.spender,
            "treasury_account": permit.spender,
            "fee": "0",
        },
        "amount": str(permit.most),
        "source": _end(permit.source),
        "destination": _end(permit.destination),
        "processing_date": str(permit.processing_date),
        "expires_at": str(permit.deadline),
    }


def _end(end: End) -> dict[str, str]:
    return {"account": end.account, "network_id": str(end.chain_id), "payment_token": end.token}


def _struct_hash(name: str, values: dict[str, Any]) -> bytes:
    """EIP-712: keccak256( hash of the type with those it uses | a word for each member )."""
    words = [
        _struct_hash(kind, values[member]) if kind in TYPES else member_word(kind, values[member])
        for member, kind in TYPES[name]
    ]
    used = sorted({kind for _, kind in TYPES[name] if kind in TYPES})
    return keccak256(keccak256("".join(map(_declare_type, (name, *used))).encode()) + b"".join(words))


def _witness_type() -> str:
    """What the contract appends to its own part of the type: the witness, then all types that are used, sorted."""
    used = sorted(name for name in TYPES if name != _PERMIT)
    return f"PaymentIntent witness){''.join(map(_declare_type, used))}"


def _declare_type(name: str) -> str:
    return f"{name}({','.join(f'{kind} {member}' for member, kind in TYPES[name])})"
