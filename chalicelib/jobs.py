"""Queue consumers and schedules: one flow each."""


