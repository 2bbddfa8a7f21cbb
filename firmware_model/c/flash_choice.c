#include "flash_choice.h"
#include "flash_port.h"

/* Put a read behind those of its rank for its LUN, and behind all of its channel. */
void flash_queue_choice(struct tables *t, struct choice *choice, const struct geometry *geometry,
                        uint32_t read, uint32_t kind)
{
    struct fill *fill = &t->fills[read];
    const struct job *job = &t->jobs[fill->job];
    uint32_t place = describe_read(fill, job, geometry, read);
    uint32_t rank = choice->ranks[kind];
    struct rank_queue *queue = &choice->queues[job->channel * LUNS_A_CHANNEL + place][rank];
    if (queue->first == NONE) {
        queue->first = read;
        choice->channels[job->channel].waiting[rank] |= 1u << place;
    } else {
        t->fills[queue->last].queued = read;
    }
    queue->last = read;

    uint32_t end = JOBS + job->channel;
    uint32_t older = choice->ages[end].older;
    choice->ages[read] = (struct age){older, end, rank};
    choice->ages[older].newer = read;
    choice->ages[end].older = read;
}

/* Hand a channel controller its next command: four words, the last of which starts it. Of LUNs that
 * have room, the first rank with a read; of its LUNs those without a command, where they go first;
 * of these the next one in turn. After `patience` such commands the oldest read of the channel goes
 * first, as soon as its LUN has room.
 *
 * Returns the read, or NONE if the controller cannot take a command now.
 */
uint32_t flash_issue_choice(volatile uint32_t *port, struct tables *t, struct choice *choice,
                            const struct geometry *geometry, uint32_t channel)
{
    if (!(port[STATUS] & READY))
        return NONE;
    struct channel_choice *c = &choice->channels[channel];
    uint32_t place, name, rank;
    if (c->turn >= choice->patience) {
        name = choice->ages[JOBS + channel].newer;
        const struct flash_read *oldest = &t->fills[name].read;
        place = oldest->way << geometry->lun_bits | oldest->lun;
        rank = choice->ages[name].rank;
        if (c->room >> place & 1) {
            c->turn = 0;
            goto found;
        }
    } else {
        c->turn++;
    }
    uint32_t ready = 0;
    for (rank = 0; !(ready = c->waiting[rank] & c->room); rank++)
        ;
    uint32_t best = ready & (c->idle | choice->any);
    ready = best ? best : ready;
    uint32_t later = ready >> c->next[rank] << c->next[rank];
    place = __builtin_ctz(later ? later : ready);
    c->next[rank] = (place + 1) % LUNS_A_CHANNEL;
    name = choice->queues[channel * LUNS_A_CHANNEL + place][rank].first;
found:;
    const struct fill *fill = &t->fills[name];
    uint32_t after = fill->queued;
    choice->queues[channel * LUNS_A_CHANNEL + place][rank].first = after;
    c->waiting[rank] &= ~((uint32_t)(after == NONE) << place);
    struct age age = choice->ages[name];
    choice->ages[age.older].newer = age.newer;
    choice->ages[age.newer].older = age.older;
    uint32_t outstanding = ++t->luns[channel * LUNS_A_CHANNEL + place].outstanding;
    c->idle &= ~(1u << place);
    c->room &= ~((uint32_t)(outstanding == COMMANDS_PER_LUN) << place);
    start_read(port, &fill->read);
    return name;
}

/* Take one completion from a channel controller: two words, tag and status, then the number of
 * corrected bits. Its LUN has room for one more command.
 *
 * Returns the read, shifted by one, and whether its data is good.
 */
uint32_t flash_complete_choice(volatile uint32_t *port, struct tables *t, struct choice *choice,
                               const struct geometry *geometry, uint32_t channel,
                               uint32_t *corrected)
{
    uint32_t end = take_completion(port, corrected);
    uint32_t name = end & 0xFFFF;
    const struct flash_read *read = &t->fills[name].read;
    uint32_t place = read->way << geometry->lun_bits | read->lun;
    uint32_t outstanding = --t->luns[channel * LUNS_A_CHANNEL + place].outstanding;
    struct channel_choice *c = &choice->channels[channel];
    c->room |= 1u << place;
    c->idle |= (uint32_t)(outstanding == 0) << place;
    return outcome(name, end);
}
