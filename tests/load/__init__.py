"""Load on the local stack: merchants and payers who create, read, list and pay links, and the webhooks that follow."""
