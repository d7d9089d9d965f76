type Transaction = { to: string; data: string; value: number | string };

/** The transactions that return `amount` to who paid a request: the payee signs and sends each once, in order. */
export async function refund(apiKey: string, requestId: string, amount: string): Promise<Transaction[]> {
  const response = await fetch(`https://api.example.com/v2/request/${requestId}/refund`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: JSON.stringify({ amount }),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).transactions;
}
