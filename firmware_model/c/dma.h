/* The DMA engine's registers, and pieces of host memory that are moved descriptor by descriptor.
 *
 * A descriptor is five words, the last of which starts it. `FREE` says how many more the engine
 * takes, `DONE` gives one that has ended with each load.
 */
#ifndef DMA_H
#define DMA_H

#include "firmware.h"

enum dma_register { ADDRESS, ADDRESS_HIGH, LOCAL, LENGTH, START, FREE, DONE };

#define TO_HOST 0x80000000u
#define ENDED 0x80000000u
#define FAILED 0x40000000u
#define TAG 0xFFFFu

struct segment {
    uint32_t address[2];
    uint32_t length;
    uint32_t flags;
};

/* How far a list of pieces has been given to the engine; `left` bytes of it are to go. */
struct transfer {
    uint32_t piece;
    uint32_t done; /* bytes of that piece */
    uint32_t left;
    uint32_t local;
    uint32_t direction;
    uint32_t tag;
};

struct descriptor {
    uint32_t request;
    uint32_t failed;
};

static inline void start_dma(volatile uint32_t *engine, uint64_t address, uint32_t local,
                             uint32_t length, uint32_t tag)
{
    engine[ADDRESS] = (uint32_t)address;
    engine[ADDRESS_HIGH] = (uint32_t)(address >> 32);
    engine[LOCAL] = local;
    engine[LENGTH] = length;
    engine[START] = tag;
}

static inline uint64_t whole(const uint32_t *halves)
{
    return halves[0] | (uint64_t)halves[1] << 32;
}

/* Start the next descriptor; none crosses the end of a piece. */
static inline void start_next(volatile uint32_t *engine, struct transfer *transfer,
                              const struct segment *pieces, uint32_t limit)
{
    const struct segment *piece = pieces + transfer->piece;
    uint32_t done = transfer->done;
    uint32_t here = piece->length - done;
    here = here < limit ? here : limit;
    here = here < transfer->left ? here : transfer->left;
    start_dma(engine, whole(piece->address) + done, transfer->local,
              here | transfer->direction, transfer->tag++);
    uint32_t ends = done + here == piece->length;
    transfer->piece += ends;
    transfer->done = (done + here) * !ends;
    transfer->left -= here;
    transfer->local += here;
}

#endif
