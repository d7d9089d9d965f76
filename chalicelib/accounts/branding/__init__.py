"""Branding: the look of the payment page for the links of a client id."""
