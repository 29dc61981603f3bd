"""Texts of bounded length."""

from __future__ import annotations


def clip(text: object, limit: int) -> str:
    """Cuts text to at most limit bytes of UTF-8, between characters."""
    data = str(text).encode("utf-8", "replace")  # half a surrogate pair becomes "?": the arena reads strictly
    return data[:limit].decode("utf-8", "ignore") if len(data) > limit else data.decode("utf-8")
