"""What models that write contexts share: prompts about several chunks, and the check of answers."""
