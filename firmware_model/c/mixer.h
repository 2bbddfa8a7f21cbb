/* The counter-based mixer that positions are drawn with: rtl/contract/mixer.py. */
#ifndef MIXER_H
#define MIXER_H

#include <stdint.h>

#define GOLDEN 0x9E3779B9u

static inline uint32_t mix(uint32_t word)
{
    word ^= word >> 16;
    word *= 0x7FEB352Du;
    word ^= word >> 15;
    word *= 0x846CA68Bu;
    return word ^ word >> 16;
}

#endif
