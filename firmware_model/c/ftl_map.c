#include "ftl.h"

enum { FOUND, MISSED };

/* Where does a page of the host lie? `held` is 1 if the look-up has waited for the map page, which
 * was kept in the cache for it. MISSED if that must be read first, and the log does not know.
 */
uint32_t map_find(struct map *m, const volatile uint32_t *cache, uint32_t page, uint32_t held,
                  uint32_t *place)
{
    uint32_t slot = slot_of(m, page >> m->entry_log2);
    if (slot != NONE) {
        m->slots[slot].pins -= held;
        unlink_slot(m, slot);
        use_slot(m, slot);
        uint32_t entry = page & ((1u << m->entry_log2) - 1);
        *place = cache[slot << m->entry_log2 | entry];
        return FOUND;
    }
    uint32_t entry = logged_of(m, page);
    if (entry == NONE)
        return MISSED;
    *place = m->log[entry].place;
    return FOUND;
}

/* Take a slot for a map page that is to be read: a free one, or that of the page which was used
 * longest ago and is kept by nobody. If it has changed it is kept, to be written first.
 *
 * Returns the slot, shifted by one, and whether its page must be written; NONE if there is none.
 */
uint32_t map_room(struct map *m)
{
    uint32_t slot = m->free_slot;
    if (slot != NONE) {
        m->free_slot = m->slots[slot].chain;
        return slot << 1;
    }
    slot = m->slots[FTL_SLOTS].newer;
    LOOP while (slot != FTL_SLOTS && (m->slots[slot].pins | m->slots[slot].leaving))
        slot = m->slots[slot].newer;
    if (slot == FTL_SLOTS)
        return NONE;
    if (m->slots[slot].dirty) {
        m->slots[slot].dirty = 0;
        m->slots[slot].leaving = 1;
        return slot << 1 | 1;
    }
    forget_slot(m, slot);
    return slot << 1;
}

/* What the log has of a map page goes to its `entries`. */
INLINE void take_log(struct map *m, uint32_t index, volatile uint32_t *entries)
{
    struct directory *directory = &m->directory[index];
    uint32_t mask = (1u << m->entry_log2) - 1;
    uint32_t entry = directory->first;
    m->logged -= directory->count;
    directory->first = NONE;
    directory->count = 0;
    LOOP while (entry != NONE) {
        struct logged *one = &m->log[entry];
        entries[one->page & mask] = one->place;
        uint32_t *link = &m->log_chains[one->page & m->log_mask];
        LOOP while (*link != entry)
            link = &m->log[*link].chain;
        *link = one->chain;
        uint32_t next = one->next;
        one->chain = m->free_logged;
        m->free_logged = entry;
        entry = next;
    }
}

/* A map page is in the slot that was taken for it, where `waiters` look-ups need it; `fresh` is 1 if
 * there is none on flash yet. What the log knows of it enters it.
 */
void map_load(struct map *m, volatile uint32_t *cache, uint32_t index, uint32_t slot,
              uint32_t waiters, uint32_t fresh)
{
    volatile uint32_t *entries = cache + (slot << m->entry_log2);
    uint32_t mask = (1u << m->entry_log2) - 1;
    if (fresh) {
        volatile uint32_t *end = entries + mask + 1;
        volatile uint32_t *at = entries;
        LOOP do
            *at++ = NONE;
        while (at != end);
    }
    struct map_slot *s = &m->slots[slot];
    uint32_t *chain = &m->slot_chains[index & m->slot_mask];
    s->index = index;
    s->dirty = m->directory[index].first != NONE;
    s->pins = waiters;
    s->leaving = 0;
    s->chain = *chain;
    *chain = slot;
    use_slot(m, slot);
    take_log(m, index, entries);
}

/* A map page that was to leave could not be written: it stays. */
void map_keep(struct map *m, volatile uint32_t *cache, uint32_t slot)
{
    m->slots[slot].leaving = 0;
    m->slots[slot].dirty = 1;
    take_log(m, m->slots[slot].index, cache + (slot << m->entry_log2));
}

/* The map page of which most is in the log, if that is longer than a map page; else NONE. */
uint32_t log_pick(const struct map *m)
{
    if (m->logged <= 1u << m->entry_log2)
        return NONE;
    uint32_t best = 0, most = 0;
    LOOP for (uint32_t index = 0; index < m->map_pages; index++) {
        if (m->directory[index].count > most) {
            most = m->directory[index].count;
            best = index;
        }
    }
    return best;
}
