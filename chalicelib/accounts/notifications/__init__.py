"""Which e-mails about payments the members of an account get."""
