"""Flash channels: ``python benchmarks/flash_channel.py [verilator|icarus] [JSON] [PNG]``."""

import sys
from pathlib import Path

from cosim.bench.flash_channel import cases
from cosim.bench.flash_channel_command import run


def main():
    engine, json_path, plot = (sys.argv[1:] + [None] * 3)[:3]
    table = run(
        cases(),
        json_path=json_path and Path(json_path),
        plot=plot and Path(plot),
        docs=None,
        drain=None,
        tell=lambda name: print(name, file=sys.stderr),
        engine=engine or "verilator",
    )
    print(table, end="")


if __name__ == "__main__":
    main()
