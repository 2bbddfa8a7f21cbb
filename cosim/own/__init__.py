"""A user's own RTL in place of ours: found, checked against the documented ports, and described."""
