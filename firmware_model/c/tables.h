/* The firmware's own tables: pages at work, the page buffer, reads that wait for their LUN.
 *
 * Entries name each other by number, so that the layout is the same on cores of 32 and of 64 bits.
 * FRAMES, JOBS, LUNS_A_CHANNEL (of which the rings are powers of two), CHANNELS and TABLES_BYTES
 * are given on the command line, where the harness lays out the same.
 */
#ifndef TABLES_H
#define TABLES_H

#include "firmware.h"

#define NONE 0xFFFFFFFFu

/* A page that one command works on. It is in one list at a time. */
struct job {
    uint32_t page;
    uint32_t pairs; /* codeword pairs that are wanted */
    uint32_t widen; /* all pairs where whole pages are read, else none */
    uint32_t channel;
    uint32_t way;
    uint32_t lun;
    uint32_t row;
    uint32_t frame;
    uint32_t ok;
    uint32_t request;
    uint32_t next;
    uint32_t same;      /* the next one that waits for a frame of the same page */
    uint32_t last_same; /* kept by the first of them */
};

/* Room for a page. Those from `capacity` on, without room, are for the replacement policy: of LRU one
 * is the anchor of the list of idle frames.
 */
struct frame {
    uint32_t page;
    uint32_t valid; /* codeword pairs that hold data */
    uint32_t pins;
    uint32_t fills; /* the oldest read in flight */
    uint32_t chain; /* the next one of the same hash */
    uint32_t older;
    uint32_t newer;
};

/* A flash read on its way into a frame, for `job`; other jobs may wait for it. */
struct fill {
    uint32_t pairs;
    uint32_t frame;
    uint32_t job;
    uint32_t ok;
    uint32_t next;
    uint32_t waiting;
    uint32_t last_waiting;
    uint32_t queued; /* the next read of the same LUN */
    struct flash_read read;
};

struct lun {
    uint32_t outstanding;
    uint32_t first;
    uint32_t last;
};

struct ring {
    uint32_t head;
    uint32_t tail;
    uint32_t entries[JOBS];
};

/* LUNs that have both a read and room for it. */
struct lun_ring {
    uint32_t head;
    uint32_t tail;
    uint32_t entries[LUNS_A_CHANNEL];
};

struct request {
    uint32_t jobs; /* that have not ended, and one for the parser of its body */
    uint32_t result;
    uint32_t result_bytes;
    uint32_t first_piece;
};

/* What CLOCK and 2Q keep beside frames. */
struct policy {
    uint32_t idle;  /* frames that nobody uses */
    uint32_t hand;  /* the frame that CLOCK looks at next */
    uint32_t young; /* frames in A1in, and how many are not too many */
    uint32_t young_limit;
    uint32_t free_ghost;
    uint32_t ghost_mask; /* chains of A1out's hash table, less one */
    uint32_t marks[FRAMES];
    uint32_t ghosts[FRAMES];
};

struct tables {
    uint32_t capacity; /* frames of the page buffer */
    uint32_t used;     /* of them, those that have ever held a page */
    uint32_t mask;     /* chains of the hash table, less one */
    uint32_t waiting;  /* the first job without a frame, one a page */
    uint32_t free_job;
    uint32_t free_fill;
    struct ring granted;  /* jobs that waited, and got a frame */
    struct ring ready;    /* jobs whose data is there, or lost */
    struct ring woken;    /* reads that have ended and had jobs waiting */
    struct ring finished; /* requests without jobs */
    struct job jobs[JOBS];
    struct request requests[JOBS];
    struct fill fills[JOBS];
    struct frame frames[FRAMES + 1];
    uint32_t chains[FRAMES];
    struct lun luns[CHANNELS * LUNS_A_CHANNEL];
    struct lun_ring ready_luns[CHANNELS];
    struct policy policy;
};

_Static_assert(sizeof(struct tables) == TABLES_BYTES, "the harness lays out the same");

static inline void push(struct ring *ring, uint32_t name)
{
    ring->entries[ring->tail++ % JOBS] = name;
}

static inline uint32_t pop(struct ring *ring)
{
    return ring->entries[ring->head++ % JOBS];
}

static inline void push_lun(struct lun_ring *ring, uint32_t name)
{
    ring->entries[ring->tail++ % LUNS_A_CHANNEL] = name;
}

#endif
