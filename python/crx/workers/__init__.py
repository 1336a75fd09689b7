"""Child processes and pools of them: messages, start, limits, replacement and end."""
