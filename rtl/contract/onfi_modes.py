"""Timing modes of the ONFI data interfaces: SDR 0 to 5, NV-DDR 0 to 5 and NV-DDR2 0 to 7.

One row a parameter, one column a mode, all in picoseconds. Where the values are from:

* SDR and NV-DDR: ONFI 3.1, section 4.15, as the Linux kernel's raw NAND code states them
  (``drivers/mtd/nand/raw/nand_timings.c``). Stated. That code has one tCCS, 500 ns, for all modes;
  the specification gives it by the part, in its parameter page.
* NV-DDR, tCK at the most: ONFI's modes in Micron's Verilog model of the MT29F1T08CMFBE. Stated.
* NV-DDR2, all but tADL and tCCS: the same model. Stated.
* NV-DDR2, tADL and tCCS: those of the other two interfaces, where they are the same in all modes
  (that model's part asks for 300 and 400 ns). Inferred.

A part may ask for other times: see ``rtl.contract.part_description``.
"""

from rtl.contract.bus_times import Interface, NvDdr2Times, NvDdrTimes, SdrTimes

__all__ = ["MODES", "onfi_mode"]


def _modes(kind, columns, **rows):
    """A mode a column; a row of one value is the same in all modes."""
    return tuple(
        kind(
            mode=n, **{name: row if isinstance(row, int) else row[n] for name, row in rows.items()}
        )
        for n in range(columns)
    )


_SDR = _modes(
    SdrTimes,
    6,
    t_wc_ps=(100_000, 45_000, 35_000, 30_000, 25_000, 20_000),
    t_wp_ps=(50_000, 25_000, 17_000, 15_000, 12_000, 10_000),
    t_wh_ps=(30_000, 15_000, 15_000, 10_000, 10_000, 7_000),
    t_cls_ps=(50_000, 25_000, 15_000, 10_000, 10_000, 10_000),
    t_clh_ps=(20_000, 10_000, 10_000, 5_000, 5_000, 5_000),
    t_als_ps=(50_000, 25_000, 15_000, 10_000, 10_000, 10_000),
    t_alh_ps=(20_000, 10_000, 10_000, 5_000, 5_000, 5_000),
    t_ds_ps=(40_000, 20_000, 15_000, 10_000, 10_000, 7_000),
    t_dh_ps=(20_000, 10_000, 5_000, 5_000, 5_000, 5_000),
    t_rc_ps=(100_000, 50_000, 35_000, 30_000, 25_000, 20_000),
    t_rp_ps=(50_000, 25_000, 17_000, 15_000, 12_000, 10_000),
    t_reh_ps=(30_000, 15_000, 15_000, 10_000, 10_000, 7_000),
    t_rea_ps=(40_000, 30_000, 25_000, 20_000, 20_000, 16_000),
    t_rhoh_ps=(0, 15_000, 15_000, 15_000, 15_000, 15_000),
    t_rloh_ps=(0, 0, 0, 0, 5_000, 5_000),
    t_cs_ps=(70_000, 35_000, 25_000, 25_000, 20_000, 15_000),
    t_ch_ps=(20_000, 10_000, 10_000, 5_000, 5_000, 5_000),
    t_ceh_ps=20_000,
    t_adl_ps=400_000,
    t_ccs_ps=500_000,
    t_whr_ps=(120_000, 80_000, 80_000, 80_000, 80_000, 80_000),
    t_rhw_ps=(200_000, 100_000, 100_000, 100_000, 100_000, 100_000),
    t_rr_ps=(40_000, 20_000, 20_000, 20_000, 20_000, 20_000),
    t_wb_ps=(200_000, 100_000, 100_000, 100_000, 100_000, 100_000),
)

_NV_DDR = _modes(
    NvDdrTimes,
    6,
    t_ck_ps=(50_000, 30_000, 20_000, 15_000, 12_000, 10_000),
    t_ck_max_ps=(100_000, 50_000, 30_000, 20_000, 15_000, 12_000),
    t_cad_ps=45_000,
    t_cals_ps=(10_000, 5_000, 4_000, 3_000, 2_500, 2_000),
    t_calh_ps=(10_000, 5_000, 4_000, 3_000, 2_500, 2_000),
    t_cas_ps=(10_000, 5_000, 4_000, 3_000, 2_500, 2_000),
    t_cah_ps=(10_000, 5_000, 4_000, 3_000, 2_500, 2_000),
    t_dqsck_ps=25_000,
    t_wrck_ps=20_000,
    t_cs_ps=(35_000, 25_000, 15_000, 15_000, 15_000, 15_000),
    t_ch_ps=(10_000, 5_000, 4_000, 3_000, 2_500, 2_000),
    t_ceh_ps=20_000,
    t_adl_ps=400_000,
    t_ccs_ps=500_000,
    t_whr_ps=80_000,
    t_rhw_ps=100_000,
    t_rr_ps=20_000,
    t_wb_ps=100_000,
)

_NV_DDR2 = _modes(
    NvDdr2Times,
    8,
    t_rc_ps=(30_000, 25_000, 15_000, 12_000, 10_000, 7_500, 6_000, 5_000),
    t_wc_ps=25_000,
    t_wp_ps=11_000,
    t_wh_ps=11_000,
    t_cals_ps=15_000,
    t_calh_ps=5_000,
    t_cas_ps=5_000,
    t_cah_ps=5_000,
    t_dqsre_ps=25_000,
    t_rpre_ps=15_000,
    t_rpsth_ps=15_000,
    t_cdqss_ps=30_000,
    t_wpre_ps=15_000,
    t_wpst_ps=6_500,
    t_wpsth_ps=15_000,
    t_cs_ps=20_000,
    t_ch_ps=5_000,
    t_ceh_ps=20_000,
    t_adl_ps=400_000,
    t_ccs_ps=500_000,
    t_whr_ps=80_000,
    t_rhw_ps=100_000,
    t_rr_ps=20_000,
    t_wb_ps=100_000,
)

MODES = {Interface.SDR: _SDR, Interface.NV_DDR: _NV_DDR, Interface.NV_DDR2: _NV_DDR2}
"""All modes by interface, mode n at place n."""


def onfi_mode(interface, number):
    """Timing mode ``number`` of ``interface``.

    Raises
    ------
    ValueError
        If the interface has no such mode.
    """
    modes = MODES[interface]
    if number not in range(len(modes)):
        raise ValueError(
            f"Timing mode of {interface.value} must be 0 to {len(modes) - 1}, not {number!r}"
        )
    return modes[number]
