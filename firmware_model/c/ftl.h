/* The tables of the flash translation layer, in the SSD's DRAM.
 *
 * The cores see them cached. What flash fills or empties is uncached: the map pages in the cache, in
 * words, and metadata codewords. Sizes (FTL_*) are given on the command line, where the harness lays
 * out the same; a number of pages of a map page, or of a block, is a power of two.
 */
#ifndef FTL_H
#define FTL_H

#include "tables.h"
#include "lists.h"

/* Room for one map page in the cache; the one behind the last is the anchor of the list of uses. */
struct map_slot {
    uint32_t index; /* of the map page */
    uint32_t chain; /* the next one of the same hash, or free one */
    uint32_t older;
    uint32_t newer;
    uint32_t dirty;
    uint32_t pins;    /* look-ups that have waited for it */
    uint32_t leaving; /* it is being written, to leave then */
};

/* Of a map page: where it lies, and what is known of it while it is not cached. */
struct directory {
    uint32_t place;
    uint32_t first; /* entry of the log */
    uint32_t count;
};

/* An entry of a map page that is not cached, or is just being written. */
struct logged {
    uint32_t page;
    uint32_t place;
    uint32_t chain; /* the next one of the same hash, or free one */
    uint32_t next;  /* of the same map page */
};

/* A logical page on its way to flash, and where it lies until then. */
struct write {
    uint32_t page;
    uint32_t old;
    uint32_t chain;
};

struct map {
    uint32_t pages; /* of the host; map page m is logical page `pages` + m */
    uint32_t map_pages;
    uint32_t entry_log2; /* entries of a map page */
    uint32_t slot_mask;  /* chains of a hash table, less one */
    uint32_t log_mask;
    uint32_t write_mask;
    uint32_t free_slot;
    uint32_t free_logged;
    uint32_t free_write;
    uint32_t logged;
    uint32_t sequence[2]; /* of the next page that is written */
    struct map_slot slots[FTL_SLOTS + 1];
    uint32_t slot_chains[FTL_SLOTS];
    struct directory directory[FTL_MAP_PAGES];
    struct write writes[FTL_WRITES];
    uint32_t write_chains[FTL_WRITES];
    struct logged log[FTL_LOGGED];
    uint32_t log_chains[FTL_LOGGED];
};

_Static_assert(sizeof(struct map) == FTL_MAP_BYTES, "the harness lays out the same");

/* The slot of a map page, or NONE. */
INLINE uint32_t slot_of(const struct map *m, uint32_t index)
{
    uint32_t slot = m->slot_chains[index & m->slot_mask];
    LOOP while (slot != NONE && m->slots[slot].index != index)
        slot = m->slots[slot].chain;
    return slot;
}

/* The entry of the log for a page, or NONE. */
INLINE uint32_t logged_of(const struct map *m, uint32_t page)
{
    uint32_t entry = m->log_chains[page & m->log_mask];
    LOOP while (entry != NONE && m->log[entry].page != page)
        entry = m->log[entry].chain;
    return entry;
}

/* Off the list of uses. */
INLINE void unlink_slot(struct map *m, uint32_t slot)
{
    struct map_slot *s = &m->slots[slot];
    m->slots[s->older].newer = s->newer;
    m->slots[s->newer].older = s->older;
}

/* To its newer end. */
INLINE void use_slot(struct map *m, uint32_t slot)
{
    uint32_t last = m->slots[FTL_SLOTS].older;
    m->slots[slot].older = last;
    m->slots[slot].newer = FTL_SLOTS;
    m->slots[last].newer = slot;
    m->slots[FTL_SLOTS].older = slot;
}

/* A map page leaves the cache: off its hash chain and the list of uses. */
INLINE void forget_slot(struct map *m, uint32_t slot)
{
    uint32_t *link = &m->slot_chains[m->slots[slot].index & m->slot_mask];
    LOOP while (*link != slot)
        link = &m->slots[*link].chain;
    *link = m->slots[slot].chain;
    unlink_slot(m, slot);
}

/* A page's place among the writes under way, or NONE. */
INLINE uint32_t write_of(const struct map *m, uint32_t page)
{
    uint32_t write = m->write_chains[page & m->write_mask];
    LOOP while (write != NONE && m->writes[write].page != page)
        write = m->writes[write].chain;
    return write;
}

/* Keep an entry in the log. */
INLINE void note(struct map *m, uint32_t page, uint32_t place)
{
    uint32_t entry = logged_of(m, page);
    if (entry == NONE) {
        entry = m->free_logged;
        struct logged *one = &m->log[entry];
        struct directory *directory = &m->directory[page >> m->entry_log2];
        uint32_t *chain = &m->log_chains[page & m->log_mask];
        m->free_logged = one->chain;
        one->page = page;
        one->chain = *chain;
        *chain = entry;
        one->next = directory->first;
        directory->first = entry;
        directory->count++;
        m->logged++;
    }
    m->log[entry].place = place;
}

/* A logical page lies elsewhere now. */
INLINE void set_entry(struct map *m, volatile uint32_t *cache, uint32_t page, uint32_t place)
{
    if (page >= m->pages) {
        m->directory[page - m->pages].place = place;
        return;
    }
    uint32_t slot = slot_of(m, page >> m->entry_log2);
    if (slot != NONE) {
        m->slots[slot].dirty = 1;
        cache[slot << m->entry_log2 | (page & ((1u << m->entry_log2) - 1))] = place;
        if (!m->slots[slot].leaving)
            return;
    }
    note(m, page, place);
}

enum block_state { FREE, OPEN, SEALED, BAD };

/* A block. It is in one list: free ones in that of their unit, sealed ones without programs under
 * way in that of their number of valid pages, bad ones with pages to copy in that of such.
 */
struct block {
    uint32_t state;
    uint32_t written; /* pages that were handed out */
    uint32_t count;   /* valid pages */
    uint32_t erases;
    uint32_t programs; /* under way */
    uint32_t older;
    uint32_t newer;
    uint32_t valid[FTL_PAGES / 32]; /* bit of each page that the map leads to */
};

/* A plane of a LUN. */
struct unit {
    uint32_t open;   /* block that the host writes, or NONE */
    uint32_t unused; /* free blocks that were never written */
    uint32_t freed;  /* and those that were, by erases, then by number */
    uint32_t free;   /* how many these are */
    uint32_t scope;
};

/* What a collector serves. */
struct scope {
    uint32_t free; /* blocks */
    uint32_t open; /* block that the collector writes, or NONE */
};

#define LISTS (FTL_PAGES + 2) /* of a scope: by valid pages, and bad ones */
#define BAD_LIST (FTL_PAGES + 1)

/* The array of flash. The number of a page is its row above the bits of LUN, way and channel; that of a
 * block the same with its number in the LUN. Blocks from FTL_BLOCKS on are anchors of lists.
 */
struct array {
    uint32_t channel_bits;
    uint32_t way_bits;
    uint32_t lun_bits;
    uint32_t page_log2; /* pages of a block */
    uint32_t plane_mask;
    uint32_t scope_mask; /* of a channel */
    uint32_t unit_count;
    uint32_t cursor; /* unit of the host's next page */
    struct unit units[FTL_UNITS];
    uint32_t unit_of[FTL_UNITS]; /* by plane above the bits of LUN, way and channel */
    struct scope scopes[FTL_SCOPES];
    struct block blocks[FTL_BLOCKS + FTL_SCOPES * LISTS];
};

_Static_assert(sizeof(struct array) == FTL_ARRAY_BYTES, "the harness lays out the same");

/* A page that is written: what its metadata says. */
struct version {
    uint32_t page;
    uint32_t sequence[2];
    uint32_t copies;
};

INLINE uint32_t place_bits(const struct array *a)
{
    return a->channel_bits + a->way_bits + a->lun_bits;
}

INLINE uint32_t block_of(const struct array *a, uint32_t number)
{
    uint32_t bits = place_bits(a);
    uint32_t place = number & ((1u << bits) - 1);
    return number >> bits >> a->page_log2 << bits | place;
}

INLINE uint32_t page_of(const struct array *a, uint32_t number)
{
    return number >> place_bits(a) & ((1u << a->page_log2) - 1);
}

INLINE uint32_t number_of(const struct array *a, uint32_t block, uint32_t page)
{
    uint32_t bits = place_bits(a);
    return (block >> bits << a->page_log2 | page) << bits | (block & ((1u << bits) - 1));
}

INLINE uint32_t scope_of(const struct array *a, uint32_t block)
{
    return block & a->scope_mask;
}

INLINE void unlink_block(struct array *a, uint32_t name)
{
    struct block *block = &a->blocks[name];
    a->blocks[block->older].newer = block->newer;
    a->blocks[block->newer].older = block->older;
}

/* To the newer end of one of its scope's lists. */
INLINE void list_block(struct array *a, uint32_t name, uint32_t list)
{
    uint32_t anchor = FTL_BLOCKS + scope_of(a, name) * LISTS + list;
    uint32_t last = a->blocks[anchor].older;
    a->blocks[name].older = last;
    a->blocks[name].newer = anchor;
    a->blocks[last].newer = name;
    a->blocks[anchor].older = name;
}

/* The collector may find the block: it is sealed, and nothing is programmed there. */
INLINE uint32_t is_listed(const struct block *block)
{
    return !((block->state ^ SEALED) | block->programs);
}

/* The map leads to this page no more. */
INLINE void invalidate(struct array *a, uint32_t number)
{
    uint32_t name = block_of(a, number), page = page_of(a, number);
    struct block *block = &a->blocks[name];
    block->valid[page >> 5] ^= 1u << (page & 31);
    block->count--;
    if (is_listed(block)) {
        unlink_block(a, name);
        list_block(a, name, block->count);
    }
}

/* The program of a page has ended; `valid` says whether the map leads to it now. */
INLINE void programmed(struct array *a, uint32_t number, uint32_t valid)
{
    uint32_t name = block_of(a, number), page = page_of(a, number);
    struct block *block = &a->blocks[name];
    block->valid[page >> 5] |= valid << (page & 31);
    block->count += valid;
    block->programs--;
    if (is_listed(block))
        list_block(a, name, block->count);
}

#endif
