"""A small valid configuration, to be changed."""

GOOD = """\
systems:
  - kind: firmware-csd
    coalescing: 64
  - kind: fpga-csd
    name: serial
    reads_in_flight: 1
    page_buffer: "5 %"
platform_overrides:
  ssd.nand.t_r: "25 us"
run:
  graph: {file: g.npz}
  trace:
    batches: 2
    targets: 4
    fan_outs: [3, 2]
    seed: 7
  out: runs/x
"""
