#include "firmware.h"

/* Bring together the pieces of one target that lie in the same page: a job a page, in the order in
 * which the pieces need them, each with its pieces back to back and in their order.
 *
 * A list lies in few pages, so that the jobs so far are searched one by one. Returns how many jobs
 * there are.
 */
uint32_t group_pieces(struct piece *pieces, uint32_t count, const struct format *format,
                      struct page_job *jobs, struct piece *grouped)
{
    struct page_job *end = jobs;
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < count; i++) {
        struct page_job *job = jobs;
#pragma clang loop unroll(disable)
        while (job != end && job->page != pieces[i].page)
            job++;
        if (job == end) {
            end++;
            job->page = pieces[i].page;
            job->pairs = 0;
            job->count = 0;
        }
        job->pairs |= 1u << (pieces[i].start >> format->pair_log2);
        job->count++;
        pieces[i].page = (uint32_t)(job - jobs);
    }

    uint32_t before = 0;
#pragma clang loop unroll(disable)
    for (struct page_job *job = jobs; job != end; job++) {
        job->end = before;
        before += job->count;
    }
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < count; i++)
        grouped[jobs[pieces[i].page].end++] = pieces[i];
    return (uint32_t)(end - jobs);
}
