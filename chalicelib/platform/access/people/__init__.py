"""People who sign in, their wallets and e-mail addresses, and their memberships of accounts, each with a role."""
