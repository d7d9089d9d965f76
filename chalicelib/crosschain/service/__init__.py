"""Routes of the router, the networks that a payer can pay from, payment intents, and following bridge transfers."""
