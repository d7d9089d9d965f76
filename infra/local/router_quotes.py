"""The quotes of the local router: what a transfer by Across costs, and the transaction that deposits it."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.keccak import keccak256
from chalicelib.chains.catalogue.bridges import needs_reset
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from infra.local.chain import Chain

FEE_BASIS_POINTS = 8
FILL_SECONDS = 7200
"""How long a relayer has to fill a deposit, from the quote on."""
_FEE_CENTS = 2
_GAS = 300_000
_SECONDS = 4
_TOOL = {"key": "across", "name": "Across", "logoURI": ""}
_DEPOSIT_TYPES = (*["address"] * 4, *["uint256"] * 3, "address", *["uint32"] * 3, "bytes")


@dataclass(frozen=True)
class Asked:
    """A request for a quote. Amounts are in base units of the destination's token."""

    source: Token
    destination: Token
    sender: str
    fallback: str
    amount: int
    target: str
    spender: str
    spent: int
    calldata: bytes
    gas: int
    integrator: str | None


def source_amount(asked: Asked) -> int:
    """Returns what the sender pays, in base units of the source's token: the amount, 0.08 % and two cents."""
    source: int = 10**asked.source.decimals
    amount: int = -(-asked.amount * source // 10**asked.destination.decimals)
    return amount + amount * FEE_BASIS_POINTS // 10_000 + _FEE_CENTS * source // 100


def quote(chain: Chain, asked: Asked, id: str) -> dict[str, Any]:
    """Returns a step of the API, whose transaction deposits on the source's chain from now until an hour has passed."""
    action, estimate = _action(asked), _estimate(chain, asked)
    step = {"id": id, "tool": "across", "toolDetails": _TOOL, "action": action, "estimate": estimate}
    return {
        **step,
        "type": "lifi",
        "integrator": asked.integrator,
        "includedSteps": [{**step, "type": "cross", "id": f"{id}:0"}],
        "transactionRequest": {
            "to": address_of(ACROSS_SPOKE_POOL, asked.source.network),
            "data": "0x" + _deposit(chain, asked).hex(),
            "value": "0x0",
            "from": asked.sender,
            "chainId": asked.source.chain_id,
            "gasLimit": hex(_GAS),
            "gasPrice": chain.rpc("eth_gasPrice"),
        },
    }


def token_json(token: Token) -> dict[str, Any]:
    """Returns a token as the API has it; a native coin is at the zero address."""
    address = ZERO_ADDRESS if token.is_native else token.address
    named = {"symbol": token.symbol, "decimals": token.decimals, "name": token.name, "coinKey": token.symbol}
    return {
        "address": address,
        "chainId": token.chain_id,
        **named,
        "logoURI": "",
        "priceUSD": "2500" if token.is_native else "1",
    }


def _deposit(chain: Chain, asked: Asked) -> bytes:
    """Returns the calldata of depositV3, whose message approves the target to spend, and calls it."""
    from eth_abi import encode

    amounts = [0, asked.spent] if needs_reset(asked.destination) else [asked.spent]
    approvals = [bytes.fromhex("095ea7b3") + encode(["address", "uint256"], [asked.spender, each]) for each in amounts]
    calls = [*((asked.destination.address, each, 0) for each in approvals), (asked.target, asked.calldata, 0)]
    message = encode(["((address,bytes,uint256)[],address)"], [(calls, asked.fallback)])
    now = int(chain.rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16)
    values = [
        asked.sender,
        address_of(ACROSS_HANDLER, asked.destination.network),
        asked.source.address,
        asked.destination.address,
        source_amount(asked),
        asked.amount,
        asked.destination.chain_id,
        ZERO_ADDRESS,
        now,
        now + FILL_SECONDS,
        0,
        message,
    ]
    return keccak256(f"depositV3({','.join(_DEPOSIT_TYPES)})".encode())[:4] + encode(_DEPOSIT_TYPES, values)


def _action(asked: Asked) -> dict[str, Any]:
    return {
        "fromChainId": asked.source.chain_id,
        "fromAmount": str(source_amount(asked)),
        "fromToken": token_json(asked.source),
        "fromAddress": asked.sender,
        "toChainId": asked.destination.chain_id,
        "toToken": token_json(asked.destination),
        "toAddress": address_of(ACROSS_HANDLER, asked.destination.network),
        "slippage": 0.005,
    }


def _estimate(chain: Chain, asked: Asked) -> dict[str, Any]:
    amount, unit = source_amount(asked), 10**asked.source.decimals
    fee = amount - asked.amount * unit // 10**asked.destination.decimals
    price = int(chain.rpc("eth_gasPrice"), 16)
    return {
        "tool": "across",
        "fromAmount": str(amount),
        "toAmount": str(asked.amount),
        "toAmountMin": str(asked.amount),
        "approvalAddress": address_of(ACROSS_SPOKE_POOL, asked.source.network),
        "executionDuration": _SECONDS,
        "feeCosts": [
            {
                "name": "Relayer fee",
                "description": "What the relayer takes",
                "percentage": f"{Decimal(fee) / amount:.4f}",
                "token": token_json(asked.source),
                "amount": str(fee),
                "amountUSD": f"{Decimal(fee) / unit:.4f}",
                "included": True,
            }
        ],
        "gasCosts": [
            {
                "type": "SEND",
                "price": str(price),
                "estimate": str(_GAS // 2),
                "limit": str(_GAS),
                "amount": str(price * _GAS // 2),
                "amountUSD": f"{Decimal(price * _GAS // 2) / 10**18 * 2500:.4f}",
                "token": _coin(asked.source.network),
            }
        ],
    }


def _coin(network: str) -> dict[str, Any]:
    return token_json(next(token for token in find_tokens(network=network) if token.is_native))
