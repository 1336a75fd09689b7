"""Child processes: messages, and limits on silence."""
