"""The flash pages' BCH code in hardware: encoder and decoder."""
