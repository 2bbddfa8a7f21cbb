"""Tests; no folder or module below is named like a package that is imported."""
