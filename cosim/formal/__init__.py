"""Model checking of the properties in ``rtl.formal``."""
