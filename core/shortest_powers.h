/* The table of core/shortest.c; not for others. */
#ifndef PROBE_CORE_SHORTEST_POWERS_H
#define PROBE_CORE_SHORTEST_POWERS_H

#include <stdint.h>

enum { SHORTEST_POWER_MIN = -292, SHORTEST_POWERS = 617 };

struct shortest_power {
    uint64_t high, low; /* 63 bits each */
};

extern const struct shortest_power shortest_powers[SHORTEST_POWERS];

#endif
