"""Payments whose payers sign a transfer of the token, and the service makes: no coin is needed for gas."""
