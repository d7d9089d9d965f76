"""The ledger of what the service's account holds for whom, per token: nothing is spent beyond its own entry."""
