/* The families of APIs that the catalogue is for: at least 95 % of their names run forward, and 95 % of those that PyTorch can
 * differentiate backward. The others hold what stands in config/api_surface.json with a reason. */
#ifndef PROBE_TESTS_SUPPORT_CORE_FAMILIES_H
#define PROBE_TESTS_SUPPORT_CORE_FAMILIES_H

#include <stdbool.h>
#include <string.h>

static inline bool is_core_family(const char *family)
{
    static const char *const core[] = { "elementwise_unary",
                                        "elementwise_binary",
                                        "elementwise_nary",
                                        "activation",
                                        "compare_logical_bit",
                                        "reduction",
                                        "matmul",
                                        "conv",
                                        "pooling",
                                        "normalization",
                                        "loss",
                                        "indexing",
                                        "shape_view",
                                        "sort_topk",
                                        "creation",
                                        "interpolation",
                                        "attention",
                                        "random" };
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (!strcmp(core[i], family)) return true;
    return false;
}

#endif
