/* Lists and hash chains of the page buffer's frames. */
#ifndef LISTS_H
#define LISTS_H

#include "tables.h"

#define INLINE static inline __attribute__((always_inline))
#define LOOP _Pragma("clang loop unroll(disable)")

/* Off its list, a ring around an anchor. */
static inline void unlink(struct tables *t, uint32_t name)
{
    struct frame *frame = &t->frames[name];
    t->frames[frame->older].newer = frame->newer;
    t->frames[frame->newer].older = frame->older;
}

/* To the newer end of the list around `anchor`. */
static inline void append(struct tables *t, uint32_t anchor, uint32_t name)
{
    uint32_t last = t->frames[anchor].older;
    t->frames[name].older = last;
    t->frames[name].newer = anchor;
    t->frames[last].newer = name;
    t->frames[anchor].older = name;
}

/* The frame's page leaves its hash chain. */
static inline void forget(struct tables *t, uint32_t name)
{
    uint32_t *link = &t->chains[t->frames[name].page & t->mask];
    LOOP while (*link != name)
        link = &t->frames[*link].chain;
    *link = t->frames[name].chain;
}

#endif
