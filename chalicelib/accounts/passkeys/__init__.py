"""Passkeys (WebAuthn): registering, signing in and proving presence with them."""
