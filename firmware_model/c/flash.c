#include "flash_port.h"

/* Put a read in the queue of its LUN, and the LUN in its channel's ring if it has room. */
void flash_queue(struct tables *t, const struct geometry *geometry, uint32_t read)
{
    struct fill *fill = &t->fills[read];
    const struct job *job = &t->jobs[fill->job];
    uint32_t place = describe_read(fill, job, geometry, read);
    struct lun *lun = &t->luns[job->channel * LUNS_A_CHANNEL + place];
    if (lun->first == NONE) {
        lun->first = read;
        if (lun->outstanding < COMMANDS_PER_LUN)
            push_lun(&t->ready_luns[job->channel], place);
    } else {
        t->fills[lun->last].queued = read;
    }
    lun->last = read;
}

/* Hand the oldest read of the LUN whose turn it is to a channel controller: four command words, the
 * last of which starts it. A LUN that has another read, and room for it, comes in again.
 *
 * Returns the read, or NONE if the controller cannot take a command now.
 */
uint32_t flash_issue(volatile uint32_t *port, struct tables *t, uint32_t channel)
{
    if (!(port[STATUS] & READY))
        return NONE;
    struct lun_ring *ring = &t->ready_luns[channel];
    uint32_t place = ring->entries[ring->head++ % LUNS_A_CHANNEL];
    struct lun *lun = &t->luns[channel * LUNS_A_CHANNEL + place];
    uint32_t name = lun->first;
    const struct fill *fill = &t->fills[name];
    lun->first = fill->queued;
    lun->outstanding++;
    if (lun->first != NONE && lun->outstanding < COMMANDS_PER_LUN)
        push_lun(ring, place);
    start_read(port, &fill->read);
    return name;
}

/* Take one completion from a channel controller: two words, tag and status, then the number of
 * corrected bits. Its LUN has room for one more command.
 *
 * Returns the read, shifted by one, and whether its data is good.
 */
uint32_t flash_complete(volatile uint32_t *port, struct tables *t, const struct geometry *geometry,
                        uint32_t channel, uint32_t *corrected)
{
    uint32_t end = take_completion(port, corrected);
    uint32_t name = end & 0xFFFF;
    const struct flash_read *read = &t->fills[name].read;
    uint32_t place = read->way << geometry->lun_bits | read->lun;
    struct lun *lun = &t->luns[channel * LUNS_A_CHANNEL + place];
    if (lun->outstanding-- == COMMANDS_PER_LUN && lun->first != NONE)
        push_lun(&t->ready_luns[channel], place);
    return outcome(name, end);
}
