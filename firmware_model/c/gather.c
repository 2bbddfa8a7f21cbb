#include "firmware.h"

/* Copy ids, in words, from a page of the page buffer to their places in the pending subgraph.
 *
 * A 32-bit id leaves the upper half of its place as it is: body_parse has cleared it.
 */
void gather(const volatile uint32_t *page, const struct piece *pieces, uint32_t count,
            volatile uint32_t *result)
{
#pragma clang loop unroll(disable)
    for (; count; count--, pieces++) {
        const volatile uint32_t *from = page + pieces->start / 4;
        volatile uint32_t *to = result + pieces->target / 4;
        uint32_t words = pieces->words;
#pragma clang loop unroll(disable)
        do
            *to++ = *from++;
        while (--words);
    }
}
