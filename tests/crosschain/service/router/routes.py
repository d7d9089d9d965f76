"""Payments from another chain that tests ask routes for."""

from dataclasses import replace
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.catalogue.bridges import source_token
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.crosschain.service.router.rules import Wanted
from chalicelib.platform.outbound.lifi import QuoteCall

PAYER = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
STRANGER = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
FEE_ADDRESS = "0x821aEa9a577a9b44299B9c15c88cf3087F3b5544"
REFERENCE = bytes.fromhex("0123456789abcdef")


def token(chain: str, symbol: str) -> Token:
    found = source_token(chain, symbol)
    assert found is not None
    return found


def wanted(source: str = "BASE", destination: str = "ARBITRUM", symbol: str = "USDC", **changes: Any) -> Wanted:
    """12.50 in a stablecoin and 1 % fee, paid from one chain on another one; `changes` are fields of `Wanted`."""
    arrives = token(destination, symbol)
    unit: int = 10 ** (arrives.decimals - 2)
    call = pay_erc20(
        arrives.network,
        token=arrives.address,
        payee=PAYEE,
        amount=1250 * unit,
        reference=REFERENCE,
        fee_amount=1250 * unit // 100,
        fee_address=FEE_ADDRESS,
    )
    amount = BaseUnits(1250 * unit + 1250 * unit // 100)
    return replace(Wanted(token(source, symbol), arrives, PAYER, PAYER, call, amount), **changes)


def question(route: Wanted) -> QuoteCall:
    """What the router is asked for it."""
    return QuoteCall(
        from_chain=route.source.chain_id,
        from_token=route.source.address,
        from_address=route.payer,
        to_chain=route.destination.chain_id,
        to_token=route.destination.address,
        to_amount=route.amount,
        target=route.call.to,
        calldata=route.call.data,
        gas_limit=200_000,
        fallback=route.fallback,
    )
