/* A flash read on its way from its page's job to the words of a channel controller. */
#ifndef FLASH_PORT_H
#define FLASH_PORT_H

#include "tables.h"

#define READY 1u
#define STATUS 4
#define COMPLETION 8
#define NOTICED 10
#define CHANNEL_READ 0
#define OK 0

/* Say what a read is to bring; returns its LUN's place in the channel. */
static inline uint32_t describe_read(struct fill *fill, const struct job *job,
                                     const struct geometry *geometry, uint32_t read)
{
    uint32_t first = __builtin_ctz(fill->pairs);
    uint32_t beyond = 32 - __builtin_clz(fill->pairs);
    fill->read.way = job->way;
    fill->read.lun = job->lun;
    fill->read.row = job->row;
    fill->read.column = first * geometry->pair_bytes;
    fill->read.length = (beyond - first) * geometry->pair_bytes;
    fill->read.tag = read;
    fill->queued = NONE;
    return job->way << geometry->lun_bits | job->lun;
}

/* Four command words, the last of which starts the read. */
static inline void start_read(volatile uint32_t *port, const struct flash_read *read)
{
    port[0] = CHANNEL_READ | read->way << 8 | read->lun << 16;
    port[1] = read->row;
    port[2] = read->column | read->length << 16;
    port[3] = read->tag;
}

/* Take a completion: tag and status, then the number of corrected bits. */
static inline uint32_t take_completion(volatile uint32_t *port, uint32_t *corrected)
{
    uint32_t end = port[COMPLETION];
    *corrected += port[COMPLETION + 1] & 0xFFFF;
    port[NOTICED] = 1;
    return end;
}

/* The read that has ended, shifted by one, and whether its data is good. */
static inline uint32_t outcome(uint32_t name, uint32_t end)
{
    return name << 1 | ((end >> 16 & 0xFF) == OK);
}

#endif
