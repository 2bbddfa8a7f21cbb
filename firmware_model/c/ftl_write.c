#include "ftl.h"
#include "metadata.h"

enum { BEGUN, MISSED };

/* Begin to write a logical page: where does it lie now, and what will its metadata say? `held` is as
 * of map_find. MISSED if the map page must be read first.
 */
uint32_t write_begin(struct map *m, const volatile uint32_t *cache, uint32_t page, uint32_t held,
                     struct version *version)
{
    uint32_t old;
    if (page >= m->pages) {
        old = m->directory[page - m->pages].place;
    } else {
        uint32_t slot = slot_of(m, page >> m->entry_log2);
        if (slot != NONE) {
            m->slots[slot].pins -= held;
            unlink_slot(m, slot);
            use_slot(m, slot);
            old = cache[slot << m->entry_log2 | (page & ((1u << m->entry_log2) - 1))];
        } else {
            uint32_t entry = logged_of(m, page);
            if (entry == NONE)
                return MISSED;
            old = m->log[entry].place;
        }
    }
    uint32_t name = m->free_write;
    struct write *write = &m->writes[name];
    uint32_t *chain = &m->write_chains[page & m->write_mask];
    m->free_write = write->chain;
    write->page = page;
    write->old = old;
    write->chain = *chain;
    *chain = name;
    version->page = page;
    version->sequence[0] = m->sequence[0];
    version->sequence[1] = m->sequence[1];
    version->copies = 0;
    m->sequence[0]++;
    m->sequence[1] += !m->sequence[0];
    return BEGUN;
}

/* Open the unit's next free block. */
INLINE uint32_t open_block(struct array *a, struct unit *unit)
{
    uint32_t name = unit->unused;
    if (name != NONE) {
        unit->unused = a->blocks[name].newer;
    } else {
        name = unit->freed;
        unit->freed = a->blocks[name].newer;
    }
    unit->free--;
    a->scopes[unit->scope].free--;
    a->blocks[name].state = OPEN;
    a->blocks[name].written = 0;
    return name;
}

/* The next page of the open block, which is nobody's if that was its last; its metadata, and
 * where its program goes.
 */
INLINE uint32_t take_page(struct array *a, uint32_t *open,
                          const struct version *version, volatile uint32_t *metadata,
                          const uint32_t *crcs, struct flash_read *command)
{
    uint32_t name = *open;
    struct block *block = &a->blocks[name];
    uint32_t number = number_of(a, name, block->written);
    block->written++;
    block->programs++;
    if (block->written == 1u << a->page_log2) {
        block->state = SEALED;
        *open = NONE;
    }
    pack_metadata(metadata, version, crcs);
    address(command, a, name, number >> place_bits(a));
    return number;
}

/* A place for the host's next page. The host goes round the units, and leaves the last free blocks
 * of a scope to the collector. Returns the page's number, or NONE if there is no place now.
 */
uint32_t write_place(struct array *a, const struct version *version,
                     volatile uint32_t *metadata, const uint32_t *crcs,
                     struct flash_read *command)
{
    LOOP for (uint32_t left = a->unit_count; left; left--) {
        struct unit *unit = &a->units[a->cursor];
        a->cursor++;
        if (a->cursor == a->unit_count)
            a->cursor = 0;
        if (unit->open == NONE) {
            if (a->scopes[unit->scope].free <= RESERVE)
                continue;
            if (!unit->free)
                continue;
            unit->open = open_block(a, unit);
        }
        return take_page(a, &unit->open, version, metadata, crcs, command);
    }
    return NONE;
}

/* A place for a page that a collector copies: of the unit with the most free blocks. */
uint32_t gc_place(struct array *a, uint32_t scope, const struct version *version,
                  volatile uint32_t *metadata, const uint32_t *crcs, struct flash_read *command)
{
    uint32_t *open = &a->scopes[scope].open;
    if (*open == NONE) {
        struct unit *best = 0;
        uint32_t most = 0;
        LOOP for (uint32_t name = 0; name < a->unit_count; name++) {
            struct unit *unit = &a->units[name];
            if (unit->scope == scope && unit->free > most) {
                most = unit->free;
                best = unit;
            }
        }
        if (!most)
            return NONE;
        *open = open_block(a, best);
    }
    return take_page(a, open, version, metadata, crcs, command);
}

/* A page is programmed: the map leads to it. `slot` is that of a map page, which leaves the cache now;
 * NONE for a page of the host.
 */
void write_commit(struct map *m, struct array *a, volatile uint32_t *cache, uint32_t page,
                  uint32_t number, uint32_t slot)
{
    uint32_t *link = &m->write_chains[page & m->write_mask];
    LOOP while (m->writes[*link].page != page)
        link = &m->writes[*link].chain;
    uint32_t name = *link;
    struct write *write = &m->writes[name];
    uint32_t old = write->old;
    *link = write->chain;
    write->chain = m->free_write;
    m->free_write = name;
    if (old != NONE)
        invalidate(a, old);
    programmed(a, number, 1);
    if (slot != NONE) {
        m->directory[page - m->pages].place = number;
        forget_slot(m, slot);
        return;
    }
    set_entry(m, cache, page, number);
}
