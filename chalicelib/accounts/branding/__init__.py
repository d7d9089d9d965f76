"""How the payment page of a client id looks."""
