/* What the tests of the rules ask of drawn integers. Arguments stay legal for their API: each test
 * builds a call whose recorded range (as a dump gives it: Min and Max only) would let a uniform
 * draw make it illegal or ambiguous, and checks what the API's documentation asks for. Several
 * calls per test: keys differ by the name. */
#ifndef PROBE_TESTS_GENERATORS_RULE_CHECKS_H
#define PROBE_TESTS_GENERATORS_RULE_CHECKS_H

#include <stdio.h>

#include "case_builder.h"
#include "generators/rules.h"

enum { CALLS = 20 };

BUILDER struct built_case *numbered(const char *api)
{
    static char name[100];
    static int call;
    snprintf(name, sizeof name, "%s.%d", api, call++);
    return build_case(name);
}

BUILDER bool all_within(const int64_t *x, size_t n, int64_t lo, int64_t hi)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < lo || x[i] > hi) return false;
    return true;
}

/* `n` values `step` apart are pairwise distinct. */
BUILDER bool all_distinct(const int64_t *x, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (x[i * step] == x[k * step]) return false;
    return true;
}

BUILDER bool contains(const int64_t *x, size_t n, int64_t value)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] == value) return true;
    return false;
}

BUILDER int64_t sum_of(const int64_t *x, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

#endif
