#include "firmware.h"

#define READY 1u
#define STATUS 4
#define LAUNCH 5
#define COMPLETION 8
#define NOTICED 10
#define SET_FEATURES 29
#define READ_LEVEL_FEATURE 0x89
#define FEATURE_BYTES 4
#define OK 0

/* A way whose bad pages are read again, and its entry among the tags of commands. */
struct retry {
    uint32_t way;
    uint32_t level;
    uint32_t tag;
};

/* Have a die sense at the level given: its four bytes into the launch buffer, then the command.
 *
 * Returns 0, or 1 if the controller cannot take a command now.
 */
uint32_t retry_level(volatile uint32_t *port, struct retry *retry, uint32_t level)
{
    if (!(port[STATUS] & READY))
        return 1;
    retry->level = level;
    port[LAUNCH] = level;
    port[0] = SET_FEATURES | retry->way << 8;
    port[1] = READ_LEVEL_FEATURE;
    port[2] = FEATURE_BYTES << 16;
    port[3] = retry->tag;
    return 0;
}

/* Take the completion of that command from a channel controller. Returns the level, shifted by one,
 * and whether the die has taken it.
 */
uint32_t retry_complete(volatile uint32_t *port, const struct retry *retries)
{
    uint32_t end = port[COMPLETION];
    port[NOTICED] = 1;
    const struct retry *retry = &retries[end & 0xFFFF];
    return retry->level << 1 | ((end >> 16 & 0xFF) == OK);
}
