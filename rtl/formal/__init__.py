"""Properties of the RTL for a model checker: claims on ports of the unmodified design."""
