"""What a payer signs so that a collector may take the tokens: an ERC-3009 transfer, or a Permit2 transfer.

Both name the payment by its payer-agnostic hash, which covers the operator, the receiver, the token, the amount, the
expiries and the fees: a signature for other terms is for another nonce. The escrow passes the signature on as the data
of the collector.
"""

from typing import Any

from chalicelib.base.frozen import make_from
from chalicelib.chains.calldata.abi import members, typed_members
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, payer_agnostic_hash
from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.calldata.tokens.erc3009 import Authorization
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts

PERMIT2_TYPES = {
    "PermitTransferFrom": members("TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline"),
    "TokenPermissions": members("address token, uint256 amount"),
}


def erc3009_reads(info: PaymentInfo, contracts: EscrowContracts) -> tuple[Call, ...]:
    """The reads from which `erc3009_domain` knows whether the token has transfers that are signed in this way."""
    return erc3009.reads(info.token, info.payer, payer_agnostic_hash(info, contracts))


def erc3009_domain(
    returned: tuple[bytes | None, ...], info: PaymentInfo, contracts: EscrowContracts
) -> TokenDomain | None:
    """The domain to sign with, by what the token answered to `erc3009_reads`; None if it has no such transfers, or the
    payer has used this one."""
    return erc3009.domain(returned, info.token, contracts.chain_id)


def erc3009_typed_data(info: PaymentInfo, contracts: EscrowContracts, domain: TokenDomain) -> dict[str, Any]:
    """ReceiveWithAuthorization as ethers takes it: `{domain, types, values}`, large numbers as text.

    The collector gives back what is not authorized of the maximum amount in the same transaction.
    """
    terms = {
        "payer": info.payer,
        "to": contracts.erc3009,
        "value": info.max_amount,
        "valid_before": info.pre_approval_expiry,
        "nonce": payer_agnostic_hash(info, contracts),
    }
    return erc3009.typed_data(make_from(Authorization, domain, **terms))


def permit2_typed_data(info: PaymentInfo, contracts: EscrowContracts) -> dict[str, Any]:
    """PermitTransferFrom as ethers takes it. The payer needs an allowance for Permit2, which may be one for ever.

    Raises LookupError if the network has no Permit2.
    """
    contract = address_of(PERMIT2, contracts.network)
    return {
        "domain": {"name": PERMIT2, "chainId": contracts.chain_id, "verifyingContract": contract},
        "types": {name: typed_members(listed) for name, listed in PERMIT2_TYPES.items()},
        "values": {
            "permitted": {"token": info.token, "amount": str(info.max_amount)},
            "spender": contracts.permit2,
            "nonce": str(int(payer_agnostic_hash(info, contracts), 16)),
            "deadline": str(info.pre_approval_expiry),
        },
    }
