"""Hosted payment links: single, batch, payouts and multicalls, with the requests that they pay."""
