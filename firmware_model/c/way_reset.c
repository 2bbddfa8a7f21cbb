#include "firmware.h"

#define READY 1u
#define STATUS 4
#define COMPLETION 8
#define NOTICED 10
#define RESET 25
#define OK 0

/* Reset a way, one LUN of which does not become ready.
 *
 * Returns 0, or 1 if the controller cannot take a command now.
 */
uint32_t reset_way(volatile uint32_t *port, uint32_t way, uint32_t tag)
{
    if (!(port[STATUS] & READY))
        return 1;
    port[0] = RESET | way << 8;
    port[1] = 0;
    port[2] = 0;
    port[3] = tag;
    return 0;
}

/* Take the completion of that command from a channel controller. Returns its tag, shifted by one,
 * and whether the way is ready again.
 */
uint32_t reset_complete(volatile uint32_t *port)
{
    uint32_t end = port[COMPLETION];
    port[NOTICED] = 1;
    return (end & 0xFFFF) << 1 | ((end >> 16 & 0xFF) == OK);
}
