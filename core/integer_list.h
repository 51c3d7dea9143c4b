/* A short list of whole numbers, as the command line gives them: -d 0 1 2. */
#ifndef PROBE_CORE_INTEGER_LIST_H
#define PROBE_CORE_INTEGER_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { INTEGER_LIST_MAX = 64 };

/* Distinct, in the order given. */
struct integer_list {
    int64_t items[INTEGER_LIST_MAX];
    size_t count;
};

#endif
