#!/bin/sh
# Icarus Verilog is not in the Python registry: take Debian's where we may, else say what to install.
# Never fails: without it, everything but `--engine icarus` works, and a run that asks for it says so.
command -v iverilog >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get install -qq -y iverilog || { apt-get update -qq && apt-get install -qq -y iverilog; }; } \
        >/dev/null 2>&1 && exit 0
fi
echo "Icarus Verilog is missing: install it with 'apt-get install iverilog' as root to use --engine icarus" >&2
exit 0
