"""Numbers that a user gives."""

from __future__ import annotations

from heedful.errors import HeedfulError


def require_at_least(**limits: tuple[int, int]) -> None:
    """Each option, by its name, was given a number that is not below its limit."""
    for name, (given, least) in limits.items():
        if given < least:
            raise HeedfulError(f"--{name} {given}: must be at least {least}")
