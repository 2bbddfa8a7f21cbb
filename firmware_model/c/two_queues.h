/* 2Q (Johnson and Shasha, VLDB 1994). Frame `capacity` is the anchor of A1in, the next one that of Am
 * and the one after it that of A1out, whose entries are the frames behind: frames without room for
 * a page. `marks` says of a page that it is in Am.
 */
#include "lists.h"

static inline uint32_t *ghost_chain(struct tables *t, uint32_t page)
{
    return &t->policy.ghosts[page & t->policy.ghost_mask];
}

/* A page was found in its frame: of Am it is the one that was used last. */
static inline void use(struct tables *t, uint32_t name)
{
    if (!t->frames[name].pins)
        t->policy.idle--;
    if (t->policy.marks[name]) {
        unlink(t, name);
        append(t, t->capacity + 1, name);
    }
}

/* A page begins in A1in. */
static inline void begin(struct tables *t, uint32_t name)
{
    t->policy.marks[name] = 0;
    t->policy.young++;
    append(t, t->capacity, name);
}

/* The oldest idle frame of a list, or the anchor. */
INLINE uint32_t oldest_idle(struct tables *t, uint32_t anchor)
{
    uint32_t name = t->frames[anchor].newer;
    LOOP while (name != anchor && t->frames[name].pins)
        name = t->frames[name].newer;
    return name;
}

/* Whether the page is in A1out, which it leaves. */
INLINE uint32_t recall(struct tables *t, uint32_t page)
{
    uint32_t *link = ghost_chain(t, page);
    LOOP while (*link != NONE && t->frames[*link].page != page)
        link = &t->frames[*link].chain;
    uint32_t ghost = *link;
    if (ghost == NONE)
        return 0;
    *link = t->frames[ghost].chain;
    unlink(t, ghost);
    t->frames[ghost].chain = t->policy.free_ghost;
    t->policy.free_ghost = ghost;
    return 1;
}

/* The page enters A1out. If that is full it forgets the oldest one. */
INLINE void remember(struct tables *t, uint32_t page)
{
    uint32_t anchor = t->capacity + 2;
    uint32_t ghost = t->policy.free_ghost;
    if (ghost != NONE) {
        t->policy.free_ghost = t->frames[ghost].chain;
    } else {
        ghost = t->frames[anchor].newer;
        unlink(t, ghost);
        uint32_t *link = ghost_chain(t, t->frames[ghost].page);
        LOOP while (*link != ghost)
            link = &t->frames[*link].chain;
        *link = t->frames[ghost].chain;
    }
    uint32_t *chain = ghost_chain(t, page);
    t->frames[ghost].page = page;
    t->frames[ghost].chain = *chain;
    *chain = ghost;
    append(t, anchor, ghost);
}

/* A frame that is used no more goes to `page`, without its old page. */
INLINE void hand_over(struct tables *t, uint32_t name, uint32_t page)
{
    uint32_t recalled = recall(t, page);
    unlink(t, name);
    if (!t->policy.marks[name]) {
        t->policy.young--;
        remember(t, t->frames[name].page);
    }
    forget(t, name);
    t->policy.marks[name] = recalled;
    t->policy.young += 1 - recalled;
    append(t, t->capacity + recalled, name);
}

/* The frame that `page` gets, without its old page; `capacity` if all are in use. */
static inline uint32_t replace(struct tables *t, uint32_t page)
{
    if (!t->policy.idle)
        return t->capacity;
    t->policy.idle--;
    /* Am, unless A1in is too long */
    uint32_t anchor = t->capacity + (t->policy.young <= t->policy.young_limit);
    uint32_t name = oldest_idle(t, anchor);
    if (name == anchor)
        name = oldest_idle(t, 2 * t->capacity + 1 - anchor);
    hand_over(t, name, page);
    return name;
}

/* A frame is used no more. */
static inline void rest(struct tables *t, uint32_t name)
{
    (void)name;
    t->policy.idle++;
}
