#include "tables.h"
#include "dma.h"

/* If a request has ended, make its result ready for the way to the host. Returns it, or NONE. */
uint32_t finish(struct tables *t, struct transfer *transfer)
{
    if (t->finished.head == t->finished.tail)
        return NONE;
    uint32_t name = pop(&t->finished);
    const struct request *request = &t->requests[name];
    transfer->piece = request->first_piece;
    transfer->done = 0;
    transfer->left = request->result_bytes;
    transfer->local = request->result;
    transfer->direction = TO_HOST;
    return name;
}
