"""The caller's seat: prompts to retell, ends and pauses of what was said, and the pack that recordings become."""
