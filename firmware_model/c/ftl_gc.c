#include "ftl.h"
#include "metadata.h"

/* By this blocks are compared: erases, then the number. */
INLINE uint64_t wear(const struct array *a, uint32_t name)
{
    return (uint64_t)a->blocks[name].erases << 32 | name;
}

/* The block to reclaim: a bad one with pages left, else of those with the fewest valid pages the one
 * erased least, of equal ones the lowest. NONE if there is nothing to gain.
 */
uint32_t gc_pick(const struct array *a, uint32_t scope)
{
    uint32_t anchor = FTL_BLOCKS + scope * LISTS;
    uint32_t name = a->blocks[anchor + BAD_LIST].newer;
    LOOP while (name != anchor + BAD_LIST) {
        if (!(!a->blocks[name].count | a->blocks[name].programs))
            return name;
        name = a->blocks[name].newer;
    }
    uint32_t end = anchor + (1u << a->page_log2);
    LOOP while (anchor != end && a->blocks[anchor].newer == anchor)
        anchor++;
    if (anchor == end)
        return NONE;
    uint32_t best = a->blocks[anchor].newer;
    uint64_t least = wear(a, best);
    LOOP for (name = a->blocks[best].newer; name != anchor; name = a->blocks[name].newer) {
        uint64_t found = wear(a, name);
        if (found < least) {
            least = found;
            best = name;
        }
    }
    return best;
}

/* The first valid page of a block from page `from` on, or NONE. */
uint32_t gc_next(const struct array *a, uint32_t name, uint32_t from)
{
    const struct block *block = &a->blocks[name];
    uint32_t pages = 1u << a->page_log2;
    if (from == pages)
        return NONE;
    uint32_t word = from >> 5;
    uint32_t bits = block->valid[word] & NONE << (from & 31);
    LOOP while (!bits) {
        word++;
        if (word << 5 >= pages)
            return NONE;
        bits = block->valid[word];
    }
    return word << 5 | (uint32_t)__builtin_ctz(bits);
}

enum { GOOD, STALE, LOST };

/* A page of a block that is reclaimed has come, with its metadata as read; `ok` is 1 if it could be
 * corrected. STALE if the map leads to it no more; else what its copy's metadata will say.
 */
uint32_t gc_move(const struct array *a, const volatile uint32_t *metadata, uint32_t number,
                 uint32_t ok, struct version *version, const uint32_t *crcs)
{
    uint32_t page = page_of(a, number);
    if (!(a->blocks[block_of(a, number)].valid[page >> 5] >> (page & 31) & 1))
        return STALE;
    if (!ok || !unpack_metadata(version, metadata, crcs))
        return LOST;
    version->copies++;
    return GOOD;
}

/* A copy is programmed: the map leads to it, unless the host has written the page meanwhile. */
uint32_t gc_commit(struct map *m, struct array *a, volatile uint32_t *cache, uint32_t page,
                   uint32_t old, uint32_t number)
{
    uint32_t at = page_of(a, old);
    if (!(a->blocks[block_of(a, old)].valid[at >> 5] >> (at & 31) & 1)) {
        programmed(a, number, 0);
        return STALE;
    }
    uint32_t write = write_of(m, page);
    if (write != NONE)
        m->writes[write].old = number;
    invalidate(a, old);
    programmed(a, number, 1);
    set_entry(m, cache, page, number);
    return GOOD;
}

/* The command that erases a block which holds nothing any more. */
void gc_erase(const struct array *a, uint32_t block, struct flash_read *command)
{
    address(command, a, block, block >> place_bits(a) << a->page_log2);
}

/* A block is erased: it is free, in its place among the blocks of its unit that were erased. */
void gc_free(struct array *a, uint32_t name)
{
    uint32_t bits = place_bits(a);
    struct block *block = &a->blocks[name];
    uint32_t plane = name >> bits & a->plane_mask;
    struct unit *unit = &a->units[a->unit_of[plane << bits | (name & ((1u << bits) - 1))]];
    unlink_block(a, name);
    block->state = FREE;
    block->erases++;
    uint32_t *link = &unit->freed;
    LOOP while (*link != NONE && wear(a, *link) < wear(a, name))
        link = &a->blocks[*link].newer;
    block->newer = *link;
    *link = name;
    unit->free++;
    a->scopes[unit->scope].free++;
}

/* A block is not written any more: a program or an erase has failed, or a page of it is lost. `copy`
 * says whether what is valid in it is to be copied, `programs` how many have just ended there. `open`
 * is where it is kept as open, or any word.
 */
void block_retire(struct array *a, uint32_t name, uint32_t copy, uint32_t programs, uint32_t *open)
{
    struct block *block = &a->blocks[name];
    if (block->state == OPEN)
        *open = NONE;
    if (block->state == BAD || is_listed(block))
        unlink_block(a, name);
    block->state = BAD;
    block->programs -= programs;
    block->older = name;
    block->newer = name;
    if (copy)
        list_block(a, name, BAD_LIST);
}
