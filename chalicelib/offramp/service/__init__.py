"""Off-ramp: what happens at the provider between the payment on a chain and the money in a bank account."""
