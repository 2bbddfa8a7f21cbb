#include "tables.h"

/* Take an entry of the job table for one page, and look up where on the flash it lies.
 *
 * The map has a word a logical page: channel, way and LUN in the low bits, the row above. Returns
 * the entry, or NONE for a page that was never written.
 */
uint32_t translate(struct tables *t, const uint32_t *map, const struct geometry *geometry,
                   const struct page_job *wanted)
{
    uint32_t place = map[wanted->page];
    if (place == NONE)
        return NONE;
    uint32_t name = t->free_job;
    struct job *job = &t->jobs[name];
    t->free_job = job->next;
    job->page = wanted->page;
    job->pairs = wanted->pairs;
    job->channel = place & ((1u << geometry->channel_bits) - 1);
    place >>= geometry->channel_bits;
    job->way = place & ((1u << geometry->way_bits) - 1);
    place >>= geometry->way_bits;
    job->lun = place & ((1u << geometry->lun_bits) - 1);
    job->row = place >> geometry->lun_bits;
    return name;
}
