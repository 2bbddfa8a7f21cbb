/* A hand goes round the frames. It passes those in use, takes the mark off idle ones, and stops behind
 * the first idle one without a mark, whose page leaves.
 */
#include "lists.h"

/* A page was found in its frame. */
static inline void use(struct tables *t, uint32_t name)
{
    if (!t->frames[name].pins)
        t->policy.idle--;
    t->policy.marks[name] = 1;
}

/* A fresh frame gets its first page. */
static inline void begin(struct tables *t, uint32_t name)
{
    t->policy.marks[name] = 1;
}

/* The frame that `page` gets, without its old page; `capacity` if all are in use. */
static inline uint32_t replace(struct tables *t, uint32_t page)
{
    (void)page;
    if (!t->policy.idle)
        return t->capacity;
    t->policy.idle--;
    uint32_t name, next = t->policy.hand;
    LOOP for (;;) {
        name = next++;
        if (next == t->capacity)
            next = 0;
        if (t->frames[name].pins)
            continue;
        if (!t->policy.marks[name])
            break;
        t->policy.marks[name] = 0;
    }
    t->policy.hand = next;
    t->policy.marks[name] = 1;
    forget(t, name);
    return name;
}

/* A frame that is used no more goes to `page`, without its old page. */
static inline void hand_over(struct tables *t, uint32_t name, uint32_t page)
{
    (void)page;
    t->policy.marks[name] = 1;
    forget(t, name);
}

/* A frame is used no more. */
static inline void rest(struct tables *t, uint32_t name)
{
    (void)name;
    t->policy.idle++;
}
