"""What a payer is given to sign: quotes, multisig intents, broadcasts."""
