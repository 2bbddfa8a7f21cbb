#include "dma.h"

#define ENTRY_LOG2 6
#define COMPLETION_LOG2 4

/* One queue pair. `window` is where a submission entry is put. */
struct queue {
    uint32_t number;
    uint32_t entries;
    uint32_t completion_entries;
    uint32_t head;
    uint32_t post;
    uint32_t phase;
    uint32_t submissions[2];
    uint32_t completions[2];
    uint32_t window;
    uint32_t tag;
};

/* If the tail, as the doorbell left it, is not the head: fetch the entry there. Returns 1 then. */
uint32_t sqe_fetch(volatile uint32_t *engine, const volatile uint32_t *doorbell,
                   struct queue *queue)
{
    uint32_t head = queue->head;
    if (*doorbell == head || !engine[FREE])
        return 0;
    uint64_t address = whole(queue->submissions) + ((uint64_t)head << ENTRY_LOG2);
    start_dma(engine, address, queue->window, 1u << ENTRY_LOG2, queue->tag);
    head++;
    queue->head = head == queue->entries ? 0 : head;
    return 1;
}

/* Write a completion entry into the controller's memory, and order its transfer with the interrupt
 * behind it. Returns 0, or 1 if the engine is full.
 */
uint32_t cqe_post(volatile uint32_t *engine, volatile uint32_t *entry, struct queue *queue,
                  uint32_t cid, uint32_t status)
{
    if (!engine[FREE])
        return 1;
    uint32_t place = queue->post;
    entry[0] = 0;
    entry[1] = 0;
    entry[2] = queue->head | queue->number << 16;
    entry[3] = cid | queue->phase << 16 | status << 17;
    uint64_t address = whole(queue->completions) + ((uint64_t)place << COMPLETION_LOG2);
    start_dma(engine, address, 0, 1u << COMPLETION_LOG2 | TO_HOST, queue->tag);
    uint32_t next = place + 1;
    uint32_t turns = next == queue->completion_entries;
    queue->post = next * !turns;
    queue->phase ^= turns;
    return 0;
}
