"""Measure the frame: ``python benchmarks/frame.py [verilator|icarus] [JSON]``."""

import sys
from pathlib import Path

from cosim.bench.frame import bench_frame


def main():
    engine = sys.argv[1] if len(sys.argv) > 1 else "verilator"
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for name, value in bench_frame(engine, path).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
