"""The frame as a library, for one's own cocotb tests."""
