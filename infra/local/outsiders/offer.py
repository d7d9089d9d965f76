"""Creates a link to be paid in a browser, and prints what the wallet there needs, and the dashboard's account.

    python infra/local/outsiders/offer.py .local/stack.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from demo import Shop, fresh_address

NETWORK, CURRENCY = "sepolia", "fUSDC-sepolia"


def offer(stack: dict[str, Any]) -> None:
    """Creates the link and prints it."""
    shop, payer = Shop(stack), stack["payer"]
    item = {"amount": "12.5", "payee": fresh_address(), "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
    link = shop.create("", {"requests": [item], "reference": "demo"})
    chain = shop.link(link["token"], payer["address"])["chain"]
    print("Pay one yourself, in a browser with a wallet:")
    print(f"     link         {link['securePaymentUrl']}")
    print(f"     network      {chain['name']}, chain id {chain['chainId']}: set its RPC URL to {stack['rpc'][NETWORK]}")
    print(f"     private key  {payer['private_key']} (import it; its coins and tokens are this machine's)")
    print("See it paid, and create others, in the dashboard:")
    print(f"     dashboard    {stack['dashboard_url']}")
    print(f"     sign in      {stack['email']}, {stack['password']}", flush=True)


if __name__ == "__main__":
    offer(json.loads(Path(sys.argv[1]).read_text()))
