#include "dma.h"

#define MAGIC 0x4643534Eu
#define VERSION 1 /* and the next one is that of a chain of hops */
#define BLOCK_BYTES 4096
#define ENTRY_BYTES 16
#define KEY_BYTES 4
#define NODE_BYTES 4
#define EXPLICIT 0
#define DRAW_DISTINCT 2
#define CHAIN 1

/* What the parser of the body needs of a header. */
struct config {
    uint32_t mode;
    uint32_t id_bytes;
    uint32_t targets;
    uint32_t body_bytes;
    uint32_t result_bytes;
    uint32_t body_segments;
    uint32_t result_segments;
    uint32_t is_chain;
};

/* Judge a header block. The DMA engine computed `crc` while the block came, its field as zero. */
uint32_t header_check(const volatile uint32_t *block, const volatile uint32_t *crc,
                      struct config *out)
{
    if (block[0] != MAGIC)
        return NS_CONFIG_MAGIC;
    uint32_t word = block[1];
    uint32_t is_chain = (word & 0xFFFF) - VERSION;
    if (is_chain > 1)
        return NS_CONFIG_VERSION;
    if (word >> 16 != BLOCK_BYTES)
        return NS_CONFIG_LENGTH;
    if (block[2] != *crc)
        return NS_CONFIG_CRC;
    word = block[3];
    uint32_t mode = word & 0xFFFF, id_bytes = word >> 16;
    if (mode > DRAW_DISTINCT || mode < is_chain || (id_bytes != 4 && id_bytes != 8))
        return NS_CONFIG_MODE;
    uint32_t targets = block[4], body_bytes = block[5];
    uint32_t entry = mode == EXPLICIT ? ENTRY_BYTES : ENTRY_BYTES + KEY_BYTES;
    uint64_t least = (uint64_t)targets * (is_chain ? NODE_BYTES : entry);
    if (!targets || least > body_bytes)
        return NS_CONFIG_COUNT;
    out->mode = mode;
    out->id_bytes = id_bytes;
    out->targets = targets;
    out->body_bytes = body_bytes;
    out->result_bytes = block[6];
    word = block[7];
    out->body_segments = word & 0xFFFF;
    out->result_segments = word >> 16;
    out->is_chain = is_chain;
    return SUCCESS;
}

/* A list of pieces that grows; a further list page is at `chain`, of `slots` slots. */
struct pieces {
    uint32_t count;
    uint32_t slots;
    uint32_t chain[2];
    uint32_t total[2];
    struct segment list[];
};

/* Judge the slots of a segment list, or of a further page of it, and keep its pieces. */
uint32_t segment_list(const volatile uint32_t *slots, uint32_t count, uint32_t limit,
                      uint32_t page_limit, struct pieces *out)
{
    if (!count || count > limit)
        return NS_CONFIG_COUNT;
    struct segment *to = out->list + out->count;
    uint64_t total = whole(out->total);
    uint32_t chained = 0;
#pragma clang loop unroll(disable)
    for (; count; count--, slots += 4, to++) {
        uint32_t length = slots[2], flags = slots[3];
        if (flags == CHAIN && count == 1) {
            chained = 1;
            break;
        }
        if (!length || flags)
            return NS_CONFIG_ADDRESS;
        to->address[0] = slots[0];
        to->address[1] = slots[1];
        to->length = length;
        to->flags = 0;
        total += length;
    }
    out->count = (uint32_t)(to - out->list);
    out->total[0] = (uint32_t)total;
    out->total[1] = (uint32_t)(total >> 32);
    out->slots = 0;
    if (!chained)
        return SUCCESS;
    uint32_t low = slots[0], length = slots[2];
    if (low % BLOCK_BYTES || !length || length % sizeof *to || length / sizeof *to > page_limit)
        return NS_CONFIG_ADDRESS;
    out->chain[0] = low;
    out->chain[1] = slots[1];
    out->slots = length / sizeof *to;
    return SUCCESS;
}
