"""What somebody who signed in manages: API keys, client ids, branding, orchestrators, the audit log."""
