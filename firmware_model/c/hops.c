/* Chains of hops: what the host asks for, lists of targets, and body entries by row pointers. */

#include "firmware.h"
#include "mixer.h"

#define MAX_HOPS 1024
#define HOP_BYTES 8
#define NODE_BYTES 4
#define DRAW 1
#define DRAW_DISTINCT 2
#define CARRIED 1
#define ON_FLASH 1
#define POINTER_LOG2 3
#define FIRST_ID_BITS 48

/* What the rest of the command needs of the second half of its header. */
struct chain {
    uint32_t hops;
    uint32_t carried;
    uint32_t on_flash;
    uint32_t nodes;
    uint32_t edge_block[2];
    uint32_t pointer_block[2];
};

/* What it needs of the first half. */
struct limits {
    uint32_t mode;
    uint32_t targets;
    uint32_t body_bytes;
    uint32_t result_bytes;
};

struct hop {
    uint32_t fan_out;
    uint32_t key;
};

struct hop_target {
    uint32_t node;
    uint32_t key;
};

/* The targets of a hop, in the order of their slots. */
struct frontier {
    uint32_t count;
    struct hop_target list[];
};

/* Judge the second half of a header block; `table_nodes` of the row pointers in DRAM. */
uint32_t chain_check(const volatile uint32_t *half, const struct limits *limits,
                     const struct format *format, uint32_t table_nodes, struct chain *out)
{
    uint32_t word = half[0], last = half[1];
    uint32_t hops = word & 0xFFFF, on_flash = word >> 16;
    uint32_t carried = last & 0xFFFF;
    if (carried > CARRIED || on_flash > ON_FLASH || (carried && limits->mode != DRAW))
        return NS_CONFIG_MODE;
    uint32_t nodes = half[2];
    if (last >> 16 || half[3])
        return INVALID_FIELD;
    if (!hops || hops > MAX_HOPS || !nodes)
        return NS_CONFIG_COUNT;
    if (limits->body_bytes != HOP_BYTES * hops + (uint64_t)NODE_BYTES * limits->targets)
        return NS_CONFIG_LENGTH;
    uint64_t edges = half[4], pointers = half[6];
    edges |= (uint64_t)half[5] << 32;
    pointers |= (uint64_t)half[7] << 32;
    if (!on_flash && (pointers || nodes != table_nodes))
        return NS_CONFIG_ADDRESS;
    if (edges >= format->blocks)
        return LBA_OUT_OF_RANGE;
    uint64_t bytes = ((uint64_t)nodes + 1) << POINTER_LOG2;
    uint64_t blocks = (bytes + (1u << format->lba_log2) - 1) >> format->lba_log2;
    if (on_flash && (pointers > format->blocks || pointers + blocks > format->blocks))
        return LBA_OUT_OF_RANGE;
    out->hops = hops;
    out->carried = carried;
    out->on_flash = on_flash;
    out->nodes = nodes;
    out->edge_block[0] = (uint32_t)edges;
    out->edge_block[1] = (uint32_t)(edges >> 32);
    out->pointer_block[0] = (uint32_t)pointers;
    out->pointer_block[1] = (uint32_t)(pointers >> 32);
    return SUCCESS;
}

/* Keep the hops of a body, and the number of targets of the last one, at most: no hop has more. */
uint32_t hop_table(const volatile uint32_t *body, const struct limits *limits,
                   const struct chain *chain, struct hop *out, uint32_t *last)
{
    uint64_t targets = limits->targets, result = 0;
    uint32_t most = 0, carried = chain->carried;
    uint32_t distinct = limits->mode == DRAW_DISTINCT, room = limits->result_bytes;
#pragma clang loop unroll(disable)
    for (uint32_t left = chain->hops; left; left--, body += 2, out++) {
        uint32_t word = body[0];
        uint32_t fan_out = word & 0xFFFF;
        if (!fan_out || (carried & (fan_out != 1)))
            return NS_CONFIG_COUNT;
        if (distinct & (fan_out > MAX_DISTINCT))
            return NS_CONFIG_COUNT;
        if (word >> 16)
            return INVALID_FIELD;
        most = (uint32_t)targets;
        result += targets << 2;
        targets *= fan_out;
        result += targets << 3;
        if (result > room)
            return NS_CONFIG_LENGTH;
        out->fan_out = fan_out;
        out->key = body[1];
    }
    *last = most;
    return result == room ? SUCCESS : NS_CONFIG_LENGTH;
}

/* Add root targets, by a part of the body. */
uint32_t hop_roots(const volatile uint32_t *body, uint32_t count, const struct chain *chain,
                   const struct hop *hop, struct frontier *out)
{
    uint32_t slot = out->count;
    out->count = slot + count;
#pragma clang loop unroll(disable)
    for (; count; count--, slot++) {
        uint32_t node = *body++;
        if (node >= chain->nodes)
            return LBA_OUT_OF_RANGE;
        out->list[slot].node = node;
        out->list[slot].key = mix(hop->key ^ slot);
    }
    return SUCCESS;
}

/* Add the ids of `slots` lists of the hop before. */
uint32_t hop_targets(const volatile uint32_t *result, uint32_t slots, const struct chain *chain,
                     const struct hop *hop, struct frontier *out)
{
    uint32_t slot = out->count;
#pragma clang loop unroll(disable)
    for (; slots; slots--) {
#pragma clang loop unroll(disable)
        for (uint32_t ids = *result++; ids; ids--, slot++, result += 2) {
            uint32_t node = result[0];
            if (result[1] || node >= chain->nodes)
                return LBA_OUT_OF_RANGE;
            out->list[slot].node = node;
            out->list[slot].key = mix(hop->key ^ slot);
        }
    }
    out->count = slot;
    return SUCCESS;
}

/* The same for walks, of one id at most: each goes on with the key of the list that it comes from,
 * of which `from` is the first. The targets take the place of those of the hop before.
 */
uint32_t hop_walks(const volatile uint32_t *result, uint32_t slots, const struct chain *chain,
                   const struct hop_target *from, struct frontier *out)
{
    struct hop_target *to = out->list + out->count;
#pragma clang loop unroll(disable)
    for (; slots; slots--, from++) {
        if (!*result++)
            continue;
        uint32_t node = result[0];
        if (result[1] || node >= chain->nodes)
            return LBA_OUT_OF_RANGE;
        result += 2;
        to->node = node;
        to->key = from->key + GOLDEN;
        to++;
    }
    out->count = (uint32_t)(to - out->list);
    return SUCCESS;
}

/* Keep a row pointer of which the next one lies in another page. */
void row_start(const volatile uint32_t *pointer, volatile uint32_t *out)
{
    out[0] = pointer[0];
    out[1] = pointer[1];
}

/* Make the body entry of a target, with its key behind it, by its row pointer and the next one. */
uint32_t row_entry(const volatile uint32_t *start, const volatile uint32_t *end,
                   const struct hop_target *target, const struct hop *hop,
                   const struct chain *chain, const struct format *format,
                   volatile uint32_t *entry)
{
    uint64_t first = start[0], last = end[0];
    first |= (uint64_t)start[1] << 32;
    last |= (uint64_t)end[1] << 32;
    if (first > last || (last - first) >> 32 || first >> FIRST_ID_BITS)
        return LBA_OUT_OF_RANGE;
    uint64_t byte = first << format->id_log2;
    uint64_t block = byte >> format->lba_log2;
    block += chain->edge_block[0] | (uint64_t)chain->edge_block[1] << 32;
    uint32_t offset = (uint32_t)byte & ((1u << format->lba_log2) - 1);
    entry[0] = (uint32_t)block;
    entry[1] = (uint32_t)(block >> 32);
    entry[2] = (uint32_t)(last - first);
    entry[3] = offset | hop->fan_out << 16;
    entry[4] = target->key;
    return SUCCESS;
}
