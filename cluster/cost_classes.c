/* The table, measured with `run_ut -n 1 --timings --no_diagnose` and the backend cpu on random calls of 64 to 8,000,000
 * elements, float32 and bfloat16, least of three runs on one core of an x86-64 server with AVX2 (November 2026).
 * Within a class calls differ by a factor of two to three, with the data they get as well as by the row: what matters
 * is the sum over hundreds of calls, and the scale, which is calibrated (cluster/calibration.h). */
#include "cluster/cost_classes.h"

#include <string.h>

/* clang-format off */
static const struct cost_class classes[] = {
    /* family       rows                                                                 wide narrow   root  work                   ns */
    { "arithmetic",   "pow|float_power",                                                    360,   420,      0,  WORK_NONE,              0 },
    { "arithmetic",   "igamma|igammac",                                                    6000,  9600,      0,  WORK_NONE,              0 },
    { "arithmetic",   "add|sub|rsub|mul|div|true_divide|__rdiv__",                            4,    30,      0,  WORK_NONE,              0 },
    { "arithmetic",   "atan2|hypot|logaddexp|logaddexp2|xlogy",                              29,    80,      0,  WORK_NONE,              0 },
    { "arithmetic",   NULL,                                                                  21,    35,      0,  WORK_NONE,              0 },
    { "elementwise",  "erfinv|polygamma|mvlgamma",                                         3000,  6700,      0,  WORK_NONE,              0 },
    { "elementwise",  "lgamma|digamma",                                                      25,    70,      0,  WORK_NONE,              0 },
    { "elementwise",  NULL,                                                                   6,    30,      0,  WORK_NONE,              0 },
    { "matmul",       "addmm|addmv|addbmm|baddbmm",                                          20,    50,  25000,  WORK_ADDED_INNER,     0.2 },
    { "matmul",       "outer|kron|addr",                                                      8,    30,      0,  WORK_NONE,              0 },
    { "matmul",       NULL,                                                                  20,    50,  25000,  WORK_INNER,           0.2 },
    { "contraction",  NULL,                                                                  20,    50,  25000,  WORK_CONTRACTION,     0.2 },
    { "conv",         "conv_transpose1d|conv_transpose2d|conv_transpose3d",                  20,    50,  50000,  WORK_SPREAD_TAPS,     0.3 },
    { "conv",         NULL,                                                                  20,    50,  50000,  WORK_TAPS,           0.45 },
    { "norm",         "rms_norm",                                                            37,   100,      0,  WORK_NONE,              0 },
    { "norm",         NULL,                                                                 100,   160,      0,  WORK_NONE,              0 },
    { "attention",    NULL,                                                                  20,    40,      0,  WORK_SCORES,          350 },
    { "random",       "dropout|dropout1d|feature_dropout|alpha_dropout|feature_alpha_dropout",    3,     8,      0,  WORK_DROPS,           310 },
    { "random",       NULL,                                                                 160,   160,      0,  WORK_NONE,              0 },
    { "npu",          "npu_fusion_attention|npu_scaled_masked_softmax",                      20,    40,      0,  WORK_SCORES,          350 },
    { "npu",          "npu_linear|npu_linear_backward|matmul_backward",                      20,    50,  25000,  WORK_INNER,           0.2 },
    { "npu",          NULL,                                                                  30,    80,      0,  WORK_NONE,              0 },
    { "activation",   "relu|leaky_relu|prelu|threshold|hardtanh|relu6",                      19,    20,      0,  WORK_NONE,              0 },
    { "activation",   "gelu|elu|celu|selu",                                                  20,    58,      0,  WORK_NONE,              0 },
    { "activation",   "hardswish|hardsigmoid",                                               24,   120,      0,  WORK_NONE,              0 },
    { "activation",   "rrelu",                                                              160,   160,      0,  WORK_NONE,              0 },
    { "activation",   NULL,                                                                   8,    40,      0,  WORK_NONE,              0 },
    { "softmax",      "gumbel_softmax",                                                     160,   160,      0,  WORK_NONE,              0 },
    { "softmax",      "log_softmax",                                                         15,    63,      0,  WORK_NONE,              0 },
    { "softmax",      NULL,                                                                  22,    30,      0,  WORK_EXTREMES,     230000 },
    { "cast",         NULL,                                                                   2,     6,      0,  WORK_NONE,              0 },
    { "reduction",    "sum|mean|nansum|nanmean|sum_to_size|trace",                            3,    17,      0,  WORK_NONE,              0 },
    { "reduction",    "prod",                                                                57,    90,      0,  WORK_NONE,              0 },
    { "reduction",    "logsumexp",                                                           19,    83,      0,  WORK_NONE,              0 },
    { "reduction",    "any|all|count_nonzero",                                                5,     5,      0,  WORK_NONE,              0 },
    { "reduction",    NULL,                                                                  19,    22,      0,  WORK_NONE,              0 },
    { "loss_class",   "nll_loss",                                                            11,    14,      0,  WORK_NONE,              0 },
    { "loss_class",   NULL,                                                                  25,   180,      0,  WORK_NONE,              0 },
    { "compare",      NULL,                                                                   6,     6,      0,  WORK_NONE,              0 },
    { "shape",        NULL,                                                                   3,     8,      0,  WORK_NONE,              0 },
    { "parts",        NULL,                                                                   3,     8,      0,  WORK_NONE,              0 },
    { "join",         NULL,                                                                   2,     7,      0,  WORK_NONE,              0 },
    { "diagonal",     NULL,                                                                   4,     8,      0,  WORK_NONE,              0 },
    { "create",       NULL,                                                                   2,     3,      0,  WORK_NONE,              0 },
    { "pool",         NULL,                                                                  25,    40,      0,  WORK_NONE,              0 },
    { "embedding",    NULL,                                                                   5,     8,      0,  WORK_NONE,              0 },
    { "mask",         NULL,                                                                  10,    15,      0,  WORK_NONE,              0 },
    { "nary",         NULL,                                                                  10,    25,      0,  WORK_NONE,              0 },
    { "predicate",    NULL,                                                                   6,     6,      0,  WORK_NONE,              0 },
    { "complex",      NULL,                                                                  10,    30,      0,  WORK_NONE,              0 },
    { "loss",         NULL,                                                                  20,    40,      0,  WORK_NONE,              0 },
    { "linalg",       "cross|linalg.cross|cov|corrcoef",                                     20,    40,      0,  WORK_NONE,              0 },
    { "linalg",       "matrix_exp|linalg.matrix_exp",                                       100,   100,      0,  WORK_CUBE,            500 },
    { "linalg",       NULL,                                                                 100,   100,      0,  WORK_CUBE,             40 },
    { "distance",     "cdist|pdist",                                                         20,    40,      0,  WORK_PAIRS,           150 },
    { "distance",     NULL,                                                                  48,    48,      0,  WORK_NONE,              0 },
    { "extremum",     NULL,                                                                  20,    21,      0,  WORK_NONE,              0 },
    { "order",        NULL,                                                                 160,   130,      0,  WORK_NONE,              0 },
    { "vector_norm",  NULL,                                                                   8,    13,      0,  WORK_NONE,              0 },
    { "scan",         NULL,                                                                  20,    60,      0,  WORK_NONE,              0 },
    { "ctc",          NULL,                                                                1000,  1000,      0,  WORK_NONE,              0 },
    { "index",        NULL,                                                                  10,    14,      0,  WORK_NONE,              0 },
    { "getitem",      NULL,                                                                   6,    10,      0,  WORK_NONE,              0 },
    { "scatter",      NULL,                                                                  12,    16,      0,  WORK_NONE,              0 },
    { "sort",         NULL,                                                                  60,    60,      0,  WORK_NONE,              0 },
    { "unique",       NULL,                                                                 160,   120,      0,  WORK_NONE,              0 },
    { "mindspore",    NULL,                                                                  10,    20,      0,  WORK_NONE,              0 },
    { "pad",          NULL,                                                                   4,     8,      0,  WORK_NONE,              0 },
    { "interpolate",  NULL,                                                                  33,    33,      0,  WORK_NONE,              0 },
    { "grid",         NULL,                                                                  96,   110,      0,  WORK_NONE,              0 },
    { "fold",         "unfold|fold",                                                         32,    32,      0,  WORK_NONE,              0 },
    { "fold",         NULL,                                                                   6,     9,      0,  WORK_NONE,              0 },
    { "query",        NULL,                                                                   1,     1,      0,  WORK_NONE,              0 },
    { "histogram",    NULL,                                                                  25,    25,      0,  WORK_NONE,              0 },
    { "fractional",   NULL,                                                                  35,    45,      0,  WORK_NONE,              0 },
    { "sampling",     NULL,                                                                 200,   200,      0,  WORK_NONE,              0 },
};
/* clang-format on */

/* A family that nobody has measured costs what an average one does. */
static const struct cost_class unmeasured = { NULL, NULL, 20, 40, 0, WORK_NONE, 0 };

static bool has_row(const struct cost_class *class, const struct op *op)
{
    if (!class->names) return true;
    for (const char *name = class->names; name; name = strchr(name, '|')) {
        name += *name == '|';
        if (op_name_matches(op->name, name, strcspn(name, "|"))) return true;
    }
    return false;
}

const struct cost_class *cost_class_of(const struct op *op)
{
    const char *family = op_family(op);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(classes[i].family, family) && has_row(&classes[i], op)) return &classes[i];
    return &unmeasured;
}
