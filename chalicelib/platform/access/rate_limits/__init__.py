"""Rate limits: windows, tiers, bans."""
