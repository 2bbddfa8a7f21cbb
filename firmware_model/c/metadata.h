/* Metadata of flash pages: layout and CRC are those of rtl/contract/page.py. */
#ifndef METADATA_H
#define METADATA_H

#include "ftl.h"

#define RESERVE 2
#define METADATA_MAGIC 0x4D4C5446u
#define METADATA_WORDS 7

/* One more word of a CRC-32, its lowest byte first; `crcs` has the CRC of each byte. */
INLINE uint32_t crc_word(uint32_t crc, uint32_t word, const uint32_t *crcs)
{
    crc ^= word;
    crc = crcs[crc & 0xFF] ^ crc >> 8;
    crc = crcs[crc & 0xFF] ^ crc >> 8;
    crc = crcs[crc & 0xFF] ^ crc >> 8;
    return crcs[crc & 0xFF] ^ crc >> 8;
}

/* Write the metadata of a page where its program takes it from. */
INLINE void pack_metadata(volatile uint32_t *out, const struct version *version,
                          const uint32_t *crcs)
{
    uint32_t words[METADATA_WORDS - 1] = {
        version->page, 0, version->sequence[0], version->sequence[1], version->copies,
        METADATA_MAGIC,
    };
    uint32_t crc = NONE;
    LOOP for (uint32_t n = 0; n < METADATA_WORDS - 1; n++) {
        out[n] = words[n];
        crc = crc_word(crc, words[n], crcs);
    }
    out[METADATA_WORDS - 1] = ~crc;
}

/* What the metadata of a page says; returns 0 if it is none. */
INLINE uint32_t unpack_metadata(struct version *version, const volatile uint32_t *in,
                                const uint32_t *crcs)
{
    uint32_t words[METADATA_WORDS - 1];
    uint32_t crc = NONE;
    LOOP for (uint32_t n = 0; n < METADATA_WORDS - 1; n++) {
        words[n] = in[n];
        crc = crc_word(crc, words[n], crcs);
    }
    if ((words[5] ^ METADATA_MAGIC) | (in[METADATA_WORDS - 1] ^ ~crc))
        return 0;
    version->page = words[0];
    version->sequence[0] = words[2];
    version->sequence[1] = words[3];
    version->copies = words[4];
    return 1;
}

/* The command that programs a page, or erases its block: where it goes. */
INLINE void address(struct flash_read *out, const struct array *a, uint32_t block, uint32_t row)
{
    out->way = block >> a->channel_bits & ((1u << a->way_bits) - 1);
    out->lun = block >> a->channel_bits >> a->way_bits & ((1u << a->lun_bits) - 1);
    out->row = row;
    out->column = 0;
    out->length = 0;
}

#endif
