"""What a wallet has, the payments of what is due on one chain, and the approvals that they need."""

from collections.abc import Sequence

from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.protocol import Chain


def read_and_build(
    chain: Chain, dues: Sequence[Due], wallet: str | None, *, batched: bool
) -> tuple[WalletReading | None, Checkout]:
    """What the wallet holds of the tokens due, and the payments without approvals. At most one call to the node."""
    has_batch_fee = batched and chain.network != "tron"
    holdings, batch_fee = None, 0
    if wallet is not None:
        tokens = list(dict.fromkeys(due.token.address for due in dues if not due.token.is_native))
        spender = checkout_calldata.spender_of(dues[0].token, batched, converted=dues[0].conversion is not None)
        holdings = chain.read_wallet(wallet, tokens, spender, batch_fee=has_batch_fee)
        batch_fee = holdings.batch_fee_bps
    elif has_batch_fee:
        batch_fee = chain.read_batch_fee()
    return holdings, payments_of(dues, batch_fee, batched=batched)


def payments_of(dues: Sequence[Due], batch_fee_bps: int, *, batched: bool) -> Checkout:
    """The payments of the dues, without approvals."""
    return checkout_calldata.pay_together(dues, batch_fee_bps) if batched else checkout_calldata.pay_one(dues[0])


def with_approvals(
    chain: Chain, checkout: Checkout, wallet: str | None, holdings: WalletReading | None, *, always: bool = False
) -> Checkout:
    """The checkout with the approvals that the wallet needs, or `always` with one of exactly each debit.

    One call to the node for each token that has to change an allowance which is not zero.
    """
    if wallet is None or holdings is None:
        return checkout_calldata.with_approvals(checkout, {})
    allowances = {address: reading.allowance for address, reading in holdings.tokens.items()}
    resets = frozenset(
        token.address
        for token, debit in checkout.debits.items()
        if not token.is_native
        and allowances[token.address] > 0
        and (always or allowances[token.address] < debit)
        and _refuses_change(chain, wallet, token, checkout.spender, debit)
    )
    return checkout_calldata.with_approvals(checkout, {} if always else allowances, resets)


def _refuses_change(chain: Chain, wallet: str, token: Token, spender: str, debit: int) -> bool:
    """Whether the token refuses to change an allowance that is not zero, as USDT on mainnet does. One `eth_call`."""
    grant = erc20.approve(token.address, spender, debit)
    return chain.which_revert(wallet, [grant])[0]
