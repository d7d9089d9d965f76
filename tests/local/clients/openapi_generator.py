"""Pays a request with the client that openapi-generator made for Python: argv[1] describes the stack.

Prints the transactions, waits for a line on standard input, and prints what it reads then.
"""

import json
import sys
import time
from pathlib import Path

from payment_client import ApiClient, CheckoutApi, Configuration, CreateRequest, CurrenciesApi, RequestsApi, SearchApi

stack = json.loads(Path(sys.argv[1]).read_text())
client = ApiClient(Configuration(host=stack["base_url"], api_key={"apiKey": stack["api_key"]}))
tokens = CurrenciesApi(client).list_currencies(network="sepolia", symbol="fUSDC").actual_instance
item = CreateRequest(amount="12.50", payee=stack["payee"], invoiceCurrency=tokens[0].id, paymentCurrency=tokens[0].id)
made = RequestsApi(client).create_request(item, idempotency_key="openapi-generator-python")
calldata = CheckoutApi(client).pay_request(made.request_id, wallet=stack["payer"]["address"]).actual_instance
print(json.dumps([each.to_dict() for each in calldata.transactions]), flush=True)
sys.stdin.readline()

for _ in range(300):
    found = SearchApi(client).read_request(made.request_id)
    if found.has_been_paid:
        break
    time.sleep(0.2)
print(json.dumps({"paid": found.has_been_paid, "status": found.status, "amount": found.payments[0].amount}))
