/* The calls of a run in the order of their rows. */
#ifndef PROBE_RESULTS_CALL_ORDER_H
#define PROBE_RESULTS_CALL_ORDER_H

#include <stddef.h>

#include "formats/dump.h"

/* Indices into the dump, ascending. */
struct call_order {
    const struct dump *dump;
    size_t *positions; /* freed by the owner with memory_release */
    size_t count;
};

/* Full name of call i of the order; lives as long as the dump. */
const char *call_order_name(const struct call_order *order, size_t i);

#endif
