/* Data that the firmware's inner loops share.
 *
 * Uncached memory (the page buffer, NS_config bodies, pending subgraphs) is only ever read and
 * written in 32-bit words, as the embedded cores do it. Layouts are those of rtl/contract.
 */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

enum status {
    SUCCESS = 0x000,
    INVALID_OPCODE = 0x001,
    INVALID_FIELD = 0x002,
    INVALID_NAMESPACE = 0x00B,
    COMMAND_SEQUENCE_ERROR = 0x00C,
    PRP_OFFSET_INVALID = 0x013,
    LBA_OUT_OF_RANGE = 0x080,
    COMPLETION_QUEUE_INVALID = 0x100,
    INVALID_QUEUE_IDENTIFIER = 0x101,
    INVALID_QUEUE_SIZE = 0x102,
    INVALID_INTERRUPT_VECTOR = 0x108,
    INVALID_QUEUE_DELETION = 0x10C,
    NS_CONFIG_MAGIC = 0x7C0,
    NS_CONFIG_VERSION = 0x7C1,
    NS_CONFIG_LENGTH = 0x7C2,
    NS_CONFIG_CRC = 0x7C3,
    NS_CONFIG_MODE = 0x7C6,
    NS_CONFIG_COUNT = 0x7C4,
    NS_CONFIG_ADDRESS = 0x7C5,
};

/* A submission entry, decoded. */
struct command {
    uint32_t opcode;
    uint32_t sampling;
    uint32_t cid;
    uint32_t request;
    uint32_t prp1[2];
    uint32_t prp2[2];
    uint32_t block[2];
    uint32_t blocks;
};

/* Sizes of the namespace, as powers of two and in blocks; a pair is two codewords' data. */
struct format {
    uint32_t lba_log2;
    uint32_t page_log2;
    uint32_t pair_log2;
    uint32_t id_log2;
    uint32_t blocks;
};

/* `words` 32-bit words at byte `start` of a page belong at byte `target` of the result. */
struct piece {
    uint32_t page;
    uint32_t start;
    uint32_t words;
    uint32_t target;
};

/* All pieces of one target that lie in `page`: `count` of them, before number `end`; bit n of
 * `pairs` says that codeword pair n is needed.
 */
struct page_job {
    uint32_t page;
    uint32_t pairs;
    uint32_t count;
    uint32_t end;
};

/* Bits of channel, way and LUN in a word of the map, and raw bytes of a codeword pair. */
struct geometry {
    uint32_t channel_bits;
    uint32_t way_bits;
    uint32_t lun_bits;
    uint32_t pair_bytes;
};

/* A flash read that waits for its channel. */
struct flash_read {
    uint32_t way;
    uint32_t lun;
    uint32_t row;
    uint32_t column;
    uint32_t length;
    uint32_t tag;
};

uint32_t sqe_decode(const volatile uint32_t *window, struct command *out);
uint32_t body_parse(const volatile uint32_t *body, uint32_t targets, const struct format *format,
                    struct piece *out, volatile uint32_t *subgraph);
uint32_t body_draw(const volatile uint32_t *body, uint32_t targets, const struct format *format,
                   struct piece *out, volatile uint32_t *subgraph);
uint32_t group_pieces(struct piece *pieces, uint32_t count, const struct format *format,
                      struct page_job *jobs, struct piece *grouped);
uint32_t body_draw_distinct(const volatile uint32_t *body, uint32_t targets,
                            const struct format *format, struct piece *out,
                            volatile uint32_t *subgraph, uint32_t *chosen);
void gather(const volatile uint32_t *page, const struct piece *pieces, uint32_t count,
            volatile uint32_t *result);

#endif
