"""The demo's scenario with the client that openapi-python-client generated: argv[1] is its folder, argv[2] the stack.

Prints the transactions that pay the link, waits for a line on standard input, and prints what it reads then.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from payment_client import AuthenticatedClient
from payment_client.api.checkout import pay_secure_payment, read_secure_payment
from payment_client.api.currencies import list_currencies
from payment_client.api.links import create_secure_payment
from payment_client.api.transfers import list_transfers
from payment_client.api.webhooks import create_webhook, list_deliveries
from payment_client.models import (
    CreateSecurePayment,
    CreateWebhook,
    ErrorAnswer,
    PayAnswer,
    RequestItem,
    SecurePaymentAnswer,
    SecurePaymentCreated,
    TransfersAnswer,
    WebhookCreated,
)

EVENTS = 2
"""payment.confirmed and payment.confirmed.checkout"""

stack = json.loads(Path(sys.argv[2]).read_text())
client = AuthenticatedClient(stack["base_url"], stack["api_key"], prefix="", auth_header_name="x-api-key")
wallet = stack["payer"]["address"]

tokens = list_currencies.sync(client=client, network="sepolia", symbol="fUSDC")
assert isinstance(tokens, list) and tokens[0].decimals == 6
hook = create_webhook.sync(client=client, body=CreateWebhook(url="http://127.0.0.1:64999/python"))
assert isinstance(hook, WebhookCreated)
item = RequestItem("12.50", payee=stack["payee"], invoice_currency=tokens[0].id, payment_currency=tokens[0].id)
body = CreateSecurePayment([item], reference="generated", fee_percentage="1", fee_address=stack["payee"])
link = create_secure_payment.sync(client=client, body=body, idempotency_key="python-1")
assert isinstance(link, SecurePaymentCreated)
shown = read_secure_payment.sync(link.token, client=client, wallet=wallet)
assert isinstance(shown, SecurePaymentAnswer) and shown.amount == "12.5" and shown.status == "pending"
calldata = pay_secure_payment.sync(link.token, client=client, wallet=wallet)
assert isinstance(calldata, PayAnswer)
print(json.dumps([each.to_dict() for each in calldata.transactions]), flush=True)
sys.stdin.readline()

for _ in range(300):
    found = list_transfers.sync(link.token, client=client)
    listed = list_deliveries.sync(hook.id, client=client)
    delivered = len(getattr(listed, "deliveries", ())) >= EVENTS
    if isinstance(found, TransfersAnswer) and found.transfers and delivered:
        break
    time.sleep(0.2)
completed = read_secure_payment.sync(link.token, client=client)
assert isinstance(completed, ErrorAnswer)
transfer = found.transfers[0]
events = sorted({each.event for each in listed.deliveries})
print(json.dumps({"status": completed.status_code, "counted": transfer.counted, "amount": transfer.amount, "events": events}))
