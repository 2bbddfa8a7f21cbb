/* What waits for the flash channels, by class of work, beside the tables that all routines share.
 *
 * RANKS is given on the command line. A set of LUNs is a word with a bit for each.
 */
#ifndef FLASH_CHOICE_H
#define FLASH_CHOICE_H

#include "tables.h"

struct channel_choice {
    uint32_t turn;           /* commands since the oldest read was the next one */
    uint32_t room;           /* LUNs that may be given a command */
    uint32_t idle;           /* LUNs without one */
    uint32_t waiting[RANKS]; /* LUNs that reads of a rank wait for */
    uint32_t next[RANKS];    /* the LUN whose turn it is */
};

/* Reads of one rank that wait for a LUN, linked by `queued` of the fills. */
struct rank_queue {
    uint32_t first;
    uint32_t last;
};

/* A read in the list of all that wait for its channel; that of channel c begins and ends at JOBS + c. */
struct age {
    uint32_t older;
    uint32_t newer;
    uint32_t rank;
};

struct choice {
    uint32_t patience;
    uint32_t any;          /* all LUNs if idle ones do not go first, else none */
    uint32_t ranks[RANKS]; /* by class of work */
    struct channel_choice channels[CHANNELS];
    struct rank_queue queues[CHANNELS * LUNS_A_CHANNEL][RANKS];
    struct age ages[JOBS + CHANNELS];
};

_Static_assert(sizeof(struct choice) == CHOICE_BYTES, "the harness lays out the same");

#endif
