"""Everything countable of one device, in a plain object."""

from dataclasses import dataclass

__all__ = ["Counters"]


@dataclass
class Counters:
    """Events since the device was made; waits of shared tables are added by ``Device.counts``."""

    doorbells: int = 0
    bad_doorbells: int = 0
    """Doorbell writes to no queue, or with a value beyond it: ignored."""
    commands: int = 0
    sampling_commands: int = 0
    block_reads: int = 0
    failed_commands: int = 0
    """Completed with a status other than success."""
    phase_turns: int = 0
    """Completion queues that wrapped round."""
    ns_config_headers: int = 0
    chains: int = 0
    """Sampling commands with a chain of hops."""
    row_lookups: int = 0
    """Targets whose lists the firmware found by row pointers."""
    list_pages: int = 0
    targets: int = 0
    empty_targets: int = 0
    """Targets that ask for no ids."""
    ids: int = 0
    straddles: int = 0
    """Ids whose bytes lie in two pages."""
    page_jobs: int = 0
    hits: int = 0
    """Page buffer look-ups that found all they needed."""
    merges: int = 0
    """Look-ups that waited for a read somebody else had asked for."""
    misses: int = 0
    """Look-ups that had to read flash."""
    refills: int = 0
    """Misses on a page that had a frame, but not the codewords needed."""
    flash_reads: int = 0
    corrected_bits: int = 0
    """Of flash reads, by the ECC decoders of the channels."""
    uncorrectable: int = 0
    """Flash reads with codewords that could not be corrected."""
    read_retries: int = 0
    """Flash reads at a read level other than 0, after one at 0 that could not be corrected."""
    recovered_reads: int = 0
    """Of these, reads that brought a good page."""
    read_levels_set: int = 0
    """Commands that set the read level of a die, those back to 0 included."""
    way_resets: int = 0
    """Resets of a way, a LUN of which did not become ready in time."""
    lun_full: int = 0
    """Times that a read had to wait because its LUN had all the commands it takes."""
