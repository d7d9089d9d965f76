"""Tron without surprise: a wallet that has USDT alone is told what the network takes, gets that, and pays.

Another one has energy delegated to it by the service, and burns nothing.
"""

import secrets
import time
from decimal import Decimal
from typing import Any

from demo import Currency, Demo, Expected, Failed
from pay_tron import CURRENCY, NETWORK, send
from tron_payer import TronpyPayer, fresh_tron_address

AMOUNT = "3.2"
_SUN = 10**6
_TRANSFER = "a9059cbb"
_LONGEST_SECONDS = 30


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    url = demo.stack["tron_url"]
    rich, payer = TronpyPayer(url, demo.stack["tron_payer"]["private_key"]), TronpyPayer(url, secrets.token_hex(32))
    currency, payee = demo.currency(CURRENCY, NETWORK), fresh_tron_address()
    with demo.steps.step("give a new wallet USDT and no TRX"):
        rich.pay([_transfer(currency, rich, payer.address)])
    item = {"amount": AMOUNT, "payee": payee, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
    link = demo.create(f"create a link for {AMOUNT} {currency.symbol}", "", {"requests": [item], "reference": "demo"})
    token = link["token"]
    quote = _quote(demo, token, payer, "not_activated")
    with demo.steps.step("send it 2 TRX, which creates it"):
        rich.send_trx(payer.address, 2 * _SUN)
    quote = _quote(demo, token, payer, "too_little_trx")
    with demo.steps.step(f"send it the {int(quote['missing']) / _SUN:g} TRX that it lacks"):
        rich.send_trx(payer.address, int(quote["missing"]))
    quote = _quote(demo, token, payer, None)
    with demo.must_receive(payer.balance, [Expected("payee", payee, currency, Decimal(AMOUNT))]):
        before = payer.balance(None, payer.address)
        send(demo, "tronpy", payer, token)
        burned = before - payer.balance(None, payer.address)
        with demo.steps.step("compare what was burned") as result:
            if not 0 < burned <= int(quote["burned"]):
                raise Failed(f"{burned} sun were burned, and {quote['burned']} quoted")
            result.append(f"{burned / _SUN:g} TRX burned, {int(quote['burned']) / _SUN:g} quoted")
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(token, payer.address)
    _pay_with_energy(demo, rich, currency)


def _pay_with_energy(demo: Demo, rich: TronpyPayer, currency: Currency) -> None:
    """Pays from a wallet that is an account and has no TRX."""
    payer, payee = TronpyPayer(demo.stack["tron_url"], secrets.token_hex(32)), fresh_tron_address()
    with demo.steps.step("give another new wallet USDT, and one sun, which creates it"):
        rich.pay([_transfer(currency, rich, payer.address)])
        rich.send_trx(payer.address, 1)
    item = {"amount": AMOUNT, "payee": payee, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
    link = demo.create(f"create a link for {AMOUNT} {currency.symbol}", "", {"requests": [item], "reference": "demo"})
    token = link["token"]
    _quote(demo, token, payer, "too_little_trx")
    with demo.steps.step("have the service delegate what it lacks") as result:
        given = demo.shop.post_done(f"/v2/secure-payments/{token}/tron/energy", {"wallet": payer.address})
        result.append(f"{given['energy']:,} energy, {given['bandwidth']} bandwidth, until {given['expiresAt']}")
    with demo.steps.step("wait for its block") as result:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while not (found := demo.shop.calldata(token, payer.address)["metadata"]["resources"])["canPay"]:
            if time.monotonic() > deadline:
                raise Failed(str(found["advice"]))
            time.sleep(1)
        result.append(f"{int(found['burned']) / _SUN:g} TRX are left to burn")
    with demo.must_receive(payer.balance, [Expected("payee", payee, currency, Decimal(AMOUNT))]):
        send(demo, "tronpy", payer, token)
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(token, payer.address)
    if payer.balance(None, payer.address) != 1:
        raise Failed("TRX were burned")


def _quote(demo: Demo, token: str, payer: TronpyPayer, problem: str | None) -> dict[str, Any]:
    """What the service says of the payment. Raises Failed unless the problem is this one."""
    metadata = demo.take_calldata(token, payer.address)["metadata"]
    found: dict[str, Any] = metadata["resources"]
    with demo.steps.step("read what the network takes") as result:
        if found.get("problem") != problem:
            raise Failed(f"the problem is {found.get('problem')}, not {problem}")
        result.append(found.get("advice") or f"about {int(found['burned']) / _SUN:g} TRX, which the wallet has")
    return found


def _transfer(currency: Currency, payer: TronpyPayer, recipient: str) -> dict[str, Any]:
    units = int(Decimal(AMOUNT) * 10**currency.decimals)
    data = _TRANSFER + payer.client.to_hex_address(recipient)[2:].rjust(64, "0") + f"{units:064x}"
    return {"to": currency.token, "data": data, "value": 0}
