#include "firmware.h"

#define NAMESPACE 1
#define FLUSH 0x00
#define WRITE 0x01
#define READ 0x02
#define SAMPLING_BIT 25
/* FUSE is bits 9:8, PSDT bits 15:14 of dword 0. */
#define FUSE_AND_PSDT 0xC300u

/* Take one submission entry out of the controller's window, sixteen device loads, and judge it. */
uint32_t sqe_decode(const volatile uint32_t *window, struct command *out)
{
    uint32_t words[16];
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < 16; i++)
        words[i] = window[i];

    uint32_t opcode = words[0] & 0xFF;
    uint32_t sampling = opcode == WRITE && (words[12] >> SAMPLING_BIT & 1);
    out->opcode = opcode;
    out->sampling = sampling;
    out->cid = words[0] >> 16;
    out->request = words[3];
    out->prp1[0] = words[6];
    out->prp1[1] = words[7];
    out->prp2[0] = words[8];
    out->prp2[1] = words[9];
    out->block[0] = words[10];
    out->block[1] = words[11];
    out->blocks = (words[12] & 0xFFFF) + 1;
    if (!sampling && opcode != READ && opcode != FLUSH)
        return INVALID_OPCODE;
    if (words[0] & FUSE_AND_PSDT)
        return INVALID_FIELD;
    return words[1] == NAMESPACE ? SUCCESS : INVALID_NAMESPACE;
}
