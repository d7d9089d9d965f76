"""What a payer signs so that a collector may take the tokens: an ERC-3009 transfer, or a Permit2 transfer.

Both name the payment by its payer-agnostic hash, which covers the operator, the receiver, the token, the amount, the
expiries and the fees: a signature for other terms is for another nonce. The escrow passes the signature on as the data
of the collector.
"""

from typing import Any

from chalicelib.chains.calldata.abi import address_word, call
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, payer_agnostic_hash
from chalicelib.chains.calldata.token_domains import TokenDomain, domain_of, domain_reads
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts

_AUTHORIZATION_STATE = bytes.fromhex("e94a0102")
_RECEIVE = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)
_TRANSFER = (
    ("permitted", "TokenPermissions"),
    ("spender", "address"),
    ("nonce", "uint256"),
    ("deadline", "uint256"),
)
_PERMISSIONS = (("token", "address"), ("amount", "uint256"))


def erc3009_reads(info: PaymentInfo, contracts: EscrowContracts) -> tuple[Call, ...]:
    """The reads from which `erc3009_domain` knows whether the token has transfers that are signed in this way."""
    nonce = bytes.fromhex(payer_agnostic_hash(info, contracts)[2:])
    used = Call(info.token, call(_AUTHORIZATION_STATE, address_word(info.payer), nonce))
    return (*domain_reads(info.token), used)


def erc3009_domain(
    returned: tuple[bytes | None, ...], info: PaymentInfo, contracts: EscrowContracts
) -> TokenDomain | None:
    """The domain to sign with, by what the token answered to `erc3009_reads`; None if it has no such transfers, or the
    payer has used this one."""
    *domain, used = returned
    if used != bytes(32):
        return None
    return domain_of(tuple(domain), info.token, contracts.chain_id)


def erc3009_typed_data(info: PaymentInfo, contracts: EscrowContracts, domain: TokenDomain) -> dict[str, Any]:
    """ReceiveWithAuthorization as ethers takes it: `{domain, types, values}`, large numbers as text.

    The collector gives back what is not authorized of the maximum amount in the same transaction.
    """
    return {
        "domain": domain.values,
        "types": {"ReceiveWithAuthorization": _members(_RECEIVE)},
        "values": {
            "from": info.payer,
            "to": contracts.erc3009,
            "value": str(info.max_amount),
            "validAfter": "0",
            "validBefore": str(info.pre_approval_expiry),
            "nonce": payer_agnostic_hash(info, contracts),
        },
    }


def permit2_typed_data(info: PaymentInfo, contracts: EscrowContracts) -> dict[str, Any]:
    """PermitTransferFrom as ethers takes it. The payer needs an allowance for Permit2, which may be one for ever.

    Raises LookupError if the network has no Permit2.
    """
    contract = address_of(PERMIT2, contracts.network)
    return {
        "domain": {"name": PERMIT2, "chainId": contracts.chain_id, "verifyingContract": contract},
        "types": {"PermitTransferFrom": _members(_TRANSFER), "TokenPermissions": _members(_PERMISSIONS)},
        "values": {
            "permitted": {"token": info.token, "amount": str(info.max_amount)},
            "spender": contracts.permit2,
            "nonce": str(int(payer_agnostic_hash(info, contracts), 16)),
            "deadline": str(info.pre_approval_expiry),
        },
    }


def _members(members: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in members]
