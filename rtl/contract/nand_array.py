"""What a NAND part is inside: geometry, array times, polls of its status, vendor commands."""

from dataclasses import dataclass, fields

from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES

__all__ = ["NandArrayTimes", "NandGeometry", "Poll", "Polls", "SuspendOpcodes", "array_times"]

ONFI_OPCODES = bytes.fromhex(
    "00 05 06 10 11 15 30 31 32 35 3f 60 70 78 80 81 85 90 d0 d1 e0 e1 e2 ec ed ee ef fa fc ff"
)
"""First and second cycles of ONFI's own commands (ONFI 3.1, table 60)."""


def _check_positive(record, may_be_zero=()):
    for field in fields(record):
        least = 0 if field.name in may_be_zero else 1
        value = getattr(record, field.name)
        if not isinstance(value, int) or value < least:
            kind = "positive" if least else "non-negative"
            raise ValueError(f"{field.name} must be a {kind} integer, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class NandGeometry:
    """Sizes and counts of one part; of a LUN where nothing else is said.

    A row address is, from the lowest bit, page, block and LUN; the lowest bits of the block are the
    plane (ONFI 3.1, section 3.1).

    Raises
    ------
    ValueError
        If a number is not a positive integer, sizes are odd, pages or planes are no power of two,
        blocks are not the same number in all planes, the address cycles of the bus do not reach all
        pages or columns, or more blocks may be bad than there are.
    """

    page_bytes: int
    spare_bytes: int
    pages_per_block: int
    blocks_per_lun: int
    planes: int
    luns: int
    """Behind one chip enable."""
    chip_enables: int
    """That the module brings out to one channel: the most ways it can have."""
    bits_per_cell: int
    programs_per_page: int
    """Before its block is erased (partial programs)."""
    bad_blocks_max: int
    """At the most, over the part's life."""

    def __post_init__(self):
        _check_positive(self, may_be_zero=("bad_blocks_max",))
        for name in ("page_bytes", "spare_bytes"):
            if getattr(self, name) % 2:
                raise ValueError(f"{name} must be even on a DDR bus, not {getattr(self, name)}")
        for name in ("pages_per_block", "planes"):
            if getattr(self, name) & getattr(self, name) - 1:
                raise ValueError(
                    f"{name} must be a power of two, not {getattr(self, name)}: "
                    "it is a field of the row address"
                )
        if self.blocks_per_lun % self.planes:
            raise ValueError(
                f"blocks_per_lun must be a multiple of planes, not {self.blocks_per_lun} "
                f"in {self.planes} planes"
            )
        if self.bad_blocks_max >= self.blocks_per_lun:
            raise ValueError(
                "bad_blocks_max must be less than blocks_per_lun, "
                f"not {self.bad_blocks_max} of {self.blocks_per_lun}"
            )
        self._check_addresses()

    def _check_addresses(self):
        rows = self.blocks_per_lun * self.pages_per_block
        bits = (rows - 1).bit_length() + (self.luns - 1).bit_length()
        if bits > 8 * ROW_CYCLES:
            raise ValueError(
                "blocks_per_lun, pages_per_block and luns must need at most "
                f"{8 * ROW_CYCLES} bits of a row address, not {bits}"
            )
        raw_bytes = self.page_bytes + self.spare_bytes
        if raw_bytes > 1 << 8 * COLUMN_CYCLES:
            raise ValueError(
                f"page_bytes and spare_bytes must be at most {1 << 8 * COLUMN_CYCLES} together, "
                f"not {raw_bytes}"
            )

    @property
    def plane_address_bits(self):
        """Lowest bits of a block address that choose the plane."""
        return (self.planes - 1).bit_length()

    @property
    def bad_block_column(self):
        """Where a factory bad block has a byte that is not FFh, in its first or last page: the
        first spare byte (ONFI 3.1, section 3.2: defect marking).
        """
        return self.page_bytes


@dataclass(frozen=True, kw_only=True)
class NandArrayTimes:
    """How long R/B# stays low for each operation, in picoseconds (ONFI 3.1, sections 4.15 and 5).

    Raises
    ------
    ValueError
        If a time is not a positive integer, or times contradict each other: a cache or plane busy
        time is part of its operation's, and the more a reset interrupts the longer it takes.
    """

    t_r_ps: int
    """Page read: 30h."""
    t_prog_ps: int
    """Page program: 10h."""
    t_bers_ps: int
    """Block erase: D0h."""
    t_rcbsy_ps: int
    """Read cache: 31h or 3Fh, once the array has sensed; the page moves to the cache register."""
    t_cbsy_ps: int
    """Program cache: 15h, while the array is idle; the page moves off the cache register."""
    t_plrbsy_ps: int
    """Multi-plane read: 32h."""
    t_plpbsy_ps: int
    """Multi-plane program: 11h."""
    t_plebsy_ps: int
    """Multi-plane erase: D1h."""
    t_feat_ps: int
    """Set or Get Features: EFh, EEh."""
    t_itc_ps: int
    """Set Features that changes the data interface or its timing mode."""
    t_rst_ready_ps: int
    """Reset (FFh, FAh) of an idle LUN."""
    t_rst_read_ps: int
    """Reset while it reads."""
    t_rst_program_ps: int
    """Reset while it programs."""
    t_rst_erase_ps: int
    """Reset while it erases."""

    def __post_init__(self):
        _check_positive(self)
        for part, whole in (
            ("t_rcbsy_ps", "t_r_ps"),
            ("t_plrbsy_ps", "t_r_ps"),
            ("t_cbsy_ps", "t_prog_ps"),
            ("t_plpbsy_ps", "t_prog_ps"),
            ("t_plebsy_ps", "t_bers_ps"),
            ("t_rst_ready_ps", "t_rst_read_ps"),
            ("t_rst_read_ps", "t_rst_program_ps"),
            ("t_rst_program_ps", "t_rst_erase_ps"),
        ):
            if getattr(self, part) > getattr(self, whole):
                raise ValueError(
                    f"{part} must be at most {whole}, "
                    f"not {getattr(self, part)} > {getattr(self, whole)}"
                )


def array_times(part):
    """Array times of a :class:`rtl.contract.nand_part.NandPart`.

    It has one busy time for all plane commands and one for all resets, and none for a feature that
    changes the data interface. Those that a part of plain reads lacks are its tR.

    Raises
    ------
    ValueError
        If they contradict each other.
    """
    extended, t_r_ps = part.extended, part.t_r_ps
    if extended is None:
        return NandArrayTimes(**{field.name: t_r_ps for field in fields(NandArrayTimes)})
    planes = dict.fromkeys(("t_plrbsy_ps", "t_plpbsy_ps", "t_plebsy_ps"), extended.t_dbsy_ps)
    resets = ("t_rst_ready_ps", "t_rst_read_ps", "t_rst_program_ps", "t_rst_erase_ps")
    same = ("t_prog_ps", "t_bers_ps", "t_rcbsy_ps", "t_cbsy_ps", "t_feat_ps")
    return NandArrayTimes(
        t_r_ps=t_r_ps,
        t_itc_ps=extended.t_feat_ps,
        **planes,
        **dict.fromkeys(resets, extended.t_rst_ps),
        **{name: getattr(extended, name) for name in same},
    )


@dataclass(frozen=True, kw_only=True)
class Poll:
    """When a controller asks a LUN for its status (78h) where LUNs share a ready/busy line.

    Raises
    ------
    ValueError
        If a time is not a positive integer.
    """

    first_ps: int
    """Confirm cycle to the first poll."""
    period_ps: int
    """From one poll of a LUN to the next."""

    def __post_init__(self):
        _check_positive(self)


@dataclass(frozen=True, kw_only=True)
class Polls:
    """Polls by what the LUN is busy with."""

    read: Poll
    program: Poll
    erase: Poll


@dataclass(frozen=True, kw_only=True)
class SuspendOpcodes:
    """Vendor commands that put a program or an erase aside for a read, and how long that takes.

    Each is an opcode and the three row cycles of the page or block that is under work. Program and
    erase are those of 10h and D0h. Once it is ready, the LUN shows ARDY low while it holds an
    operation; if that was over before it could be put aside, ARDY is high, as always.

    Raises
    ------
    ValueError
        If an opcode is no byte, stands for two things, or is one of ONFI's; if a time is not
        positive.
    """

    program_suspend: int
    program_resume: int
    erase_suspend: int
    erase_resume: int
    t_program_suspend_ps: int
    """Program Suspend to ready, at most."""
    t_erase_suspend_ps: int
    """Erase Suspend to ready, at most."""

    def __post_init__(self):
        _check_positive(self)
        names = ("program_suspend", "program_resume", "erase_suspend", "erase_resume")
        taken = dict.fromkeys(ONFI_OPCODES, "ONFI's")
        for name in names:
            opcode = getattr(self, name)
            if opcode > 0xFF:
                raise ValueError(f"{name} must be a byte, not {opcode:#x}")
            if opcode in taken:
                raise ValueError(
                    f"{name} must be an opcode of its own, not {opcode:#04x} as {taken[opcode]}"
                )
            taken[opcode] = name

    def check(self, array):
        """Refuse to suspend for longer than what is suspended takes.

        Parameters
        ----------
        array : NandArrayTimes or ExtendedTimes

        Raises
        ------
        ValueError
            With what must hold and what was found.
        """
        for kind, whole in (("program", "t_prog_ps"), ("erase", "t_bers_ps")):
            name = f"t_{kind}_suspend_ps"
            if getattr(self, name) > getattr(array, whole):
                raise ValueError(
                    f"{name} must be at most {whole}, "
                    f"not {getattr(self, name)} > {getattr(array, whole)}"
                )
