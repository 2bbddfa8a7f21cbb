#include "firmware.h"

#define READY 1u
#define STATUS 4
#define CHANNEL_READ 0

/* Hand one read to a channel controller: four command words, the last of which starts it.
 *
 * Returns 0, or 1 if the controller or the LUN, which holds COMMANDS_PER_LUN (given on the command
 * line), cannot take a command now.
 */
uint32_t flash_issue(volatile uint32_t *port, const struct flash_read *read, uint8_t *outstanding,
                     uint32_t luns)
{
    uint8_t *lun = outstanding + read->way * luns + read->lun;
    if (*lun >= COMMANDS_PER_LUN || !(port[STATUS] & READY))
        return 1;
    *lun += 1;
    port[0] = CHANNEL_READ | read->way << 8 | read->lun << 16;
    port[1] = read->row;
    port[2] = read->column | read->length << 16;
    port[3] = read->tag;
    return 0;
}
