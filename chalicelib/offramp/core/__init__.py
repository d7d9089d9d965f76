"""Off-ramp orders of requests: what the provider does with the tokens that pay a request."""
