"""Exchange rates: what an amount in an invoice currency is in a token, from sources that agree."""
