"""Why the transfers of a payable are recorded: what each cause changes when one is added, removed or moved."""
