"""What is paid at once, how its payer wants to pay it, and whether that is possible."""

from collections.abc import Sequence

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.crosschain.service.sources.rules import is_own, payer_of, source_for
from chalicelib.payments.links.errors import WrongWallet
from chalicelib.payments.links.records import Link, Payable, PayableLink, PaymentType
from chalicelib.payments.payable.rules import Owed, Position, SourceToken, check_payer


@frozen
class Cart:
    """What is paid at once: payments that are due on one network, or those of a multicall on several.

    `payable` is what was asked to be paid; None for payouts without a link. `children` are the links that a multicall
    pays, by one payment each. `by_batch`: on their own network the batch contract makes them, however few they are.
    `call` is set for a commerce payment: what its payer alone can send, in place of a payment through a fee proxy.
    `is_capped`: less is left of a request than was asked to be paid.
    """

    positions: tuple[Position, ...]
    payable: Payable | None = None
    children: tuple[PayableLink, ...] = ()
    by_batch: bool = False
    call: Checkout | None = None
    is_capped: bool = False

    @property
    def link(self) -> Link | None:
        return self.payable.link if self.payable is not None else None

    @property
    def dues(self) -> list[Due]:
        return [each.due for each in self.positions]

    @property
    def network(self) -> str:
        """The network of the payments; of a multicall's on several networks, that of the first."""
        return self.positions[0].due.token.network


@frozen
class PayOptions:
    """How a payer wants to pay: `wallet` sends the transactions, as a Safe if `is_safe`, funded by any `eoa_wallet`.

    `is_gasless` if the payer of a request signs and sends nothing.
    """

    wallet: str | None
    source: SourceToken | None = None
    is_safe: bool = False
    eoa_wallet: str | None = None
    simulate: bool = False
    is_gasless: bool = False


def is_batched(link: Link) -> bool:
    """Whether a link is paid through the batch contract, and not by its one payment."""
    return link.payment_type is not PaymentType.SINGLE


def check_options(options: PayOptions, link: Link, parts: Sequence[PayableLink], owed: Sequence[Owed]) -> None:
    """Raises BadRequest or WrongWallet if a link is not paid in this way. `parts` are it or its children."""
    name = owed[0].token.network
    for address, field_name in ((options.wallet, "wallet"), (options.eoa_wallet, "eoaWallet")):
        check_payer([each.request for each in owed], address, field_name)
    if name == "tron" and (options.is_safe or options.eoa_wallet is not None):
        raise BadRequest("A link on tron is paid from a wallet of its own: omit isSafe and eoaWallet")
    if name == "tron" and options.source is not None:
        raise BadRequest("A link on tron is paid on tron: omit chain and token")
    if options.eoa_wallet is not None and same_address(options.eoa_wallet, str(options.wallet)):
        raise BadRequest("eoaWallet is the wallet itself: omit it, or give the smart account as wallet")
    if options.eoa_wallet is not None and any(each.token.is_native for each in owed):
        raise BadRequest("eoaWallet funds tokens alone: send the native coin to the smart account, and omit eoaWallet")
    _check_source(options, link, owed)
    for part in parts:
        check_creator(options, part.link)


def _check_source(options: PayOptions, link: Link, owed: Sequence[Owed]) -> None:
    """Raises BadRequest for a source that a link is not paid from; those of a multicall are checked child by child."""
    if options.source is None or link.payment_type is PaymentType.MULTICALL:
        return
    if link.payment_type is PaymentType.BATCH and not all(is_own(each.token, options.source) for each in owed):
        raise BadRequest("A link of several payments is paid on its own network: omit chain and token")
    if any(source_for(each.token, options.source) is not None for each in owed):
        payer_of(options.wallet, options.eoa_wallet)


def check_creator(options: PayOptions, link: Link) -> None:
    """Raises WrongWallet unless a payout's creator pays, directly or by funding the smart account that pays."""
    wallets = [wallet for wallet in (options.wallet, options.eoa_wallet) if wallet is not None]
    if link.creator_wallet is None or not wallets:
        return
    if not any(same_address(wallet, link.creator_wallet) for wallet in wallets):
        raise WrongWallet(link.creator_wallet)
