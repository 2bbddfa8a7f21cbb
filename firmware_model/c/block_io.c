#include "dma.h"

#define PAGE_BYTES 4096u

/* Blocks of the namespace, and limits of a command. */
struct limits {
    uint32_t lba_log2;
    uint32_t bytes;
    uint32_t blocks[2];
};

/* A block command at work: its bytes, and the pieces of memory where they go. */
struct block_command {
    uint32_t first_byte[2];
    uint32_t length;
    uint32_t left; /* bytes that a PRP list has still to place */
    uint32_t count;
    struct segment pieces[];
};

/* Judge a read command, and take what its two PRP entries say (NVMe 1.4, section 4.3): one piece,
 * two, or one and the address of a list.
 */
uint32_t block_decode(const struct command *command, const struct limits *limits,
                      struct block_command *out)
{
    uint32_t blocks = command->blocks;
    uint32_t length = blocks << limits->lba_log2;
    if (blocks > limits->bytes >> limits->lba_log2)
        return INVALID_FIELD;
    uint64_t first = whole(command->block), end = whole(limits->blocks);
    if (first >= end || blocks > end - first)
        return LBA_OUT_OF_RANGE;
    uint32_t low = command->prp1[0];
    if (low & 3)
        return PRP_OFFSET_INVALID;
    uint64_t byte = first << limits->lba_log2;
    uint32_t here = PAGE_BYTES - low % PAGE_BYTES;
    here = here < length ? here : length;
    out->first_byte[0] = (uint32_t)byte;
    out->first_byte[1] = (uint32_t)(byte >> 32);
    out->length = length;
    out->pieces[0].address[0] = low;
    out->pieces[0].address[1] = command->prp1[1];
    out->pieces[0].length = here;
    out->count = 1;
    out->left = length - here;
    if (!out->left || out->left > PAGE_BYTES)
        return SUCCESS;
    if (command->prp2[0] % PAGE_BYTES)
        return PRP_OFFSET_INVALID;
    out->pieces[1].address[0] = command->prp2[0];
    out->pieces[1].address[1] = command->prp2[1];
    out->pieces[1].length = out->left;
    out->count = 2;
    out->left = 0;
    return SUCCESS;
}

/* Take `count` entries of a PRP list, each of them a page of memory. */
uint32_t prp_parse(const volatile uint32_t *entries, uint32_t count, struct block_command *out)
{
    struct segment *to = out->pieces + out->count;
    uint32_t left = out->left;
    out->count += count;
#pragma clang loop unroll(disable)
    for (; count; count--, entries += 2, to++) {
        uint32_t low = entries[0];
        if (low % PAGE_BYTES)
            return PRP_OFFSET_INVALID;
        to->address[0] = low;
        to->address[1] = entries[1];
        to->length = left < PAGE_BYTES ? left : PAGE_BYTES;
        left -= to->length;
    }
    out->left = left;
    return SUCCESS;
}

/* Send a part of a buffered page, bytes `place` and following of the command, as the descriptors
 * that its pieces of memory ask for. Returns how many those were, or how many the engine took.
 */
uint32_t block_io(volatile uint32_t *engine, const struct block_command *command, uint32_t place,
                  struct transfer *transfer, uint32_t limit)
{
    uint32_t first = command->pieces[0].length;
    uint32_t beyond = place - first;
    uint32_t later = place >= first;
    transfer->piece = (1 + beyond / PAGE_BYTES) * later;
    transfer->done = later ? beyond % PAGE_BYTES : place;
    transfer->direction = TO_HOST;
    uint32_t count = 0;
#pragma clang loop unroll(disable)
    do {
        if (!engine[FREE])
            return count;
        start_next(engine, transfer, command->pieces, limit);
        count++;
    } while (transfer->left);
    return count;
}
