"""HDL simulators as engines: what to build, the build, the child process and the way in."""
