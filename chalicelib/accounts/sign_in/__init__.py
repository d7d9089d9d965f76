"""Sign-in by wallet or by e-mail and password, and sign-out."""
