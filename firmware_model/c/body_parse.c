#include "firmware.h"
#include "mixer.h"

struct target {
    uint64_t list_byte;
    uint32_t degree;
    uint32_t fan_out;
};

/* Four words: block (64 bits), degree, offset and fan-out (16 bits each). */
static inline uint32_t read_target(const volatile uint32_t *body, const struct format *format,
                                   struct target *out)
{
    uint64_t block = body[0];
    block |= (uint64_t)body[1] << 32;
    out->degree = body[2];
    uint32_t last = body[3];
    uint32_t offset = last & 0xFFFF;
    out->fan_out = last >> 16;
    if (offset >> format->lba_log2)
        return NS_CONFIG_ADDRESS;
    if (!out->degree)
        return SUCCESS;
    out->list_byte = (block << format->lba_log2) + offset;
    uint64_t end = out->list_byte + ((uint64_t)out->degree << format->id_log2);
    if (block >= format->blocks || end > (uint64_t)format->blocks << format->lba_log2)
        return LBA_OUT_OF_RANGE;
    return SUCCESS;
}

/* For ids aligned to their size, which never straddle two pages. The upper half of the id's place
 * is cleared for the case that the id has 32 bits.
 */
static inline struct piece *place(const struct target *target, uint32_t position,
                                  const struct format *format, uint32_t result, struct piece *out,
                                  volatile uint32_t *subgraph)
{
    subgraph[result / 4 + 1] = 0;
    uint64_t byte = target->list_byte + ((uint64_t)position << format->id_log2);
    out->page = (uint32_t)(byte >> format->page_log2);
    out->start = (uint32_t)byte & ((1u << format->page_log2) - 1);
    out->words = 1u << (format->id_log2 - 2);
    out->target = result;
    return out + 1;
}

/* Which words of which pages hold the ids that the body's entries ask for. The subgraph gets the
 * count of each target.
 */
uint32_t body_parse(const volatile uint32_t *body, uint32_t targets, const struct format *format,
                    struct piece *out, volatile uint32_t *subgraph)
{
    uint32_t result = 0;
#pragma clang loop unroll(disable)
    for (; targets; targets--) {
        struct target target;
        uint32_t status = read_target(body, format, &target);
        if (status)
            return status;
        body += 4;
        subgraph[result / 4] = target.degree ? target.fan_out : 0;
        result += 4;
        if (!target.degree)
            continue;
#pragma clang loop unroll(disable)
        for (uint32_t i = 0; i < target.fan_out; i++) {
            uint32_t position = *body++;
            if (position >= target.degree)
                return NS_CONFIG_COUNT;
            out = place(&target, position, format, result, out, subgraph);
            result += 8;
        }
    }
    return SUCCESS;
}

/* The same where a key follows each entry and the positions are drawn from it. */
uint32_t body_draw(const volatile uint32_t *body, uint32_t targets, const struct format *format,
                   struct piece *out, volatile uint32_t *subgraph)
{
    uint32_t result = 0;
#pragma clang loop unroll(disable)
    for (; targets; targets--) {
        struct target target;
        uint32_t status = read_target(body, format, &target);
        if (status)
            return status;
        uint32_t key = body[4];
        body += 5;
        subgraph[result / 4] = target.degree ? target.fan_out : 0;
        result += 4;
        if (!target.degree)
            continue;
#pragma clang loop unroll(disable)
        for (uint32_t i = 0; i < target.fan_out; i++) {
            key += GOLDEN;
            uint32_t position = (uint32_t)((uint64_t)mix(key) * target.degree >> 32);
            out = place(&target, position, format, result, out, subgraph);
            result += 8;
        }
    }
    return SUCCESS;
}

/* The same without replacement, by Floyd's method, and whole lists where they are no longer than the
 * fan-out. `chosen` has room for MAX_DISTINCT positions.
 */
uint32_t body_draw_distinct(const volatile uint32_t *body, uint32_t targets,
                            const struct format *format, struct piece *out,
                            volatile uint32_t *subgraph, uint32_t *chosen)
{
    uint32_t result = 0;
#pragma clang loop unroll(disable)
    for (; targets; targets--) {
        struct target target;
        uint32_t status = read_target(body, format, &target);
        if (status)
            return status;
        uint32_t key = body[4];
        body += 5;
        if (target.degree <= target.fan_out) {
            subgraph[result / 4] = target.degree;
            result += 4;
#pragma clang loop unroll(disable)
            for (uint32_t i = 0; i < target.degree; i++) {
                out = place(&target, i, format, result, out, subgraph);
                result += 8;
            }
            continue;
        }
        if (target.fan_out > MAX_DISTINCT)
            return NS_CONFIG_COUNT;
        subgraph[result / 4] = target.fan_out;
        result += 4;
        uint32_t last = target.degree - target.fan_out;
#pragma clang loop unroll(disable)
        for (uint32_t i = 0; i < target.fan_out; i++, last++) {
            key += GOLDEN;
            uint32_t position = (uint32_t)((uint64_t)mix(key) * (last + 1) >> 32);
#pragma clang loop unroll(disable)
            for (uint32_t n = 0; n < i; n++) {
                if (chosen[n] == position) {
                    position = last;
                    break;
                }
            }
            chosen[i] = position;
            out = place(&target, position, format, result, out, subgraph);
            result += 8;
        }
    }
    return SUCCESS;
}
