/* The page leaves that has been idle longest. */
#include "lists.h"

/* A page was found in its frame. */
static inline void use(struct tables *t, uint32_t name)
{
    if (!t->frames[name].pins)
        unlink(t, name);
}

/* A fresh frame gets its first page. */
static inline void begin(struct tables *t, uint32_t name)
{
    (void)t;
    (void)name;
}

/* The frame that `page` gets, without its old page; `capacity` if all are in use. */
static inline uint32_t replace(struct tables *t, uint32_t page)
{
    (void)page;
    uint32_t name = t->frames[t->capacity].newer;
    if (name == t->capacity)
        return name;
    unlink(t, name);
    forget(t, name);
    return name;
}

/* A frame that is used no more goes to `page`, without its old page. */
static inline void hand_over(struct tables *t, uint32_t name, uint32_t page)
{
    (void)page;
    forget(t, name);
}

/* A frame is used no more. */
static inline void rest(struct tables *t, uint32_t name)
{
    append(t, t->capacity, name);
}
