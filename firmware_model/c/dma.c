#include "dma.h"

/* Give the next descriptor of a transfer to the engine. Returns 0, or 1 if the engine is full. */
uint32_t dma_setup(volatile uint32_t *engine, struct transfer *transfer,
                   const struct segment *pieces, uint32_t limit)
{
    if (!engine[FREE])
        return 1;
    start_next(engine, transfer, pieces, limit);
    return 0;
}

/* Take one descriptor that has ended from the engine. Returns how many more its request waits for;
 * `waits` are counts by request, and `failed` those of descriptors that led nowhere.
 */
uint32_t dma_complete(volatile uint32_t *engine, const struct descriptor *descriptors,
                      uint32_t *waits, uint32_t *failed)
{
    uint32_t word = engine[DONE];
    if (!(word & ENDED))
        return 0;
    uint32_t request = descriptors[word & TAG].request;
    failed[request] += (word & FAILED) != 0;
    return --waits[request];
}
