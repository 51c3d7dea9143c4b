/* The table, measured with `run_ut -n 1 --timings --no_diagnose` and the backend cpu on random calls of 64 to 8,000,000
 * elements, float32 and bfloat16, least of three runs, then scaled as a whole to seconds of one core of an x86-64
 * server with AVX2 (tests/perf/bench_cost.c, November 2026).
 * Matrix functions of 16x16 to 100x100 (float32 and complex64): most of their time goes to balls, which have a budget.
 * Those of Fourier transforms, special functions, recurrent layers and the families npu, npu_... by bench_cost: transforms of 64 to 16,000
 * points, functions of 1,000 and 20,000 elements, layers of 8 to 64 steps, operators of 16,000 to 1,000,000 elements. The rows of boxes,
 * npu_suppression, npu_regions, npu_sampling, npu_choices and npu_indexer are taken from the PyTorch operators that compute alike.
 * Within a class calls differ by a factor of two to three, with the data they get as well as by the row: what matters
 * is the sum over hundreds of calls, and the scale, which is calibrated (cluster/calibration.h). */
#include "runner/cost_classes.h"

#include <string.h>

/* clang-format off */
static const struct cost_class classes[] = {
    /* family       rows                                                                     wide narrow   root  work                   ns */
    { "arithmetic",   "pow|float_power",                                                        180,   210,      0,  WORK_NONE,              0 },
    { "arithmetic",   "igamma|igammac",                                                        3000,  4800,      0,  WORK_NONE,              0 },
    { "arithmetic",   "add|sub|rsub|mul|div|true_divide|__rdiv__",                                2,    15,      0,  WORK_NONE,              0 },
    { "arithmetic",   "atan2|hypot|logaddexp|logaddexp2|xlogy",                                14.5,    40,      0,  WORK_NONE,              0 },
    { "arithmetic",   NULL,                                                                    10.5,  17.5,      0,  WORK_NONE,              0 },
    { "elementwise",  "erfinv|polygamma|mvlgamma",                                             1500,  3350,      0,  WORK_NONE,              0 },
    { "elementwise",  "i0|special.i0|special.modified_bessel_i0|special.i1|special.modified_bessel_i1",  6000,  6000,      0,  WORK_NONE,              0 },
    { "elementwise",  "lgamma|digamma",                                                        12.5,    35,      0,  WORK_NONE,              0 },
    { "elementwise",  NULL,                                                                       3,    15,      0,  WORK_NONE,              0 },
    { "matmul",       "addmm|addmv|addbmm|baddbmm",                                              10,    25,  12500,  WORK_ADDED_INNER,     0.3 },
    { "matmul",       "outer|kron|addr",                                                          4,    15,      0,  WORK_NONE,              0 },
    { "matmul",       NULL,                                                                      10,    25,  12500,  WORK_INNER,           0.3 },
    { "contraction",  NULL,                                                                      10,    25,  12500,  WORK_CONTRACTION,     0.3 },
    { "scaled_products", NULL,                                                                      10,    25,  12500,  WORK_INNER,           0.3 },
    { "packed_weights", "_convert_weight_to_int4pack",                                            5,     5,      0,  WORK_NONE,              0 },
    { "packed_weights", NULL,                                                                       10,    25,  12500,  WORK_INNER,           0.3 },
    { "conv",         "conv_transpose1d|conv_transpose2d|conv_transpose3d",                      10,    25,  25000,  WORK_SPREAD_TAPS,     0.4 },
    { "conv",         NULL,                                                                      10,    25,  25000,  WORK_TAPS,            0.6 },
    { "norm",         "rms_norm",                                                              18.5,    50,      0,  WORK_NONE,              0 },
    { "norm",         NULL,                                                                      50,    80,      0,  WORK_NONE,              0 },
    { "attention",    NULL,                                                                      10,    20,      0,  WORK_SCORES,          175 },
    { "dropout",      "dropout|dropout1d|feature_dropout|alpha_dropout|feature_alpha_dropout",  1.5,     4,      0,  WORK_DROPS,           155 },
    { "dropout",      NULL,                                                                      80,    80,      0,  WORK_NONE,              0 },
    { "random",       NULL,                                                                      80,    80,      0,  WORK_NONE,              0 },
    { "fake_quantize", NULL,                                                                     15,    40,      0,  WORK_NONE,              0 },
    { "npu_quantization", NULL,                                                                  15,    40,      0,  WORK_NONE,              0 },
    { "npu_fused_quantization", NULL,                                                            15,    40,      0,  WORK_NONE,              0 },
    { "npu_quant_products", NULL,                                                                40,    40,      0,  WORK_NONE,              0 },
    { "npu_microscaling",   NULL,                                                                45,   125,      0,  WORK_NONE,              0 },
    { "npu_microscaled",    NULL,                                                                45,   125,      0,  WORK_NONE,              0 },
    { "boxes",        NULL,                                                                      15,    40,      0,  WORK_NONE,              0 },
    { "npu_boxes",    NULL,                                                                      15,    40,      0,  WORK_NONE,              0 },
    { "npu_suppression", NULL,                                                                 1000,  1000,      0,  WORK_NONE,              0 },
    { "npu_regions",  NULL,                                                                     100,   100,      0,  WORK_NONE,              0 },
    { "npu_position_regions", NULL,                                                             100,   100,      0,  WORK_NONE,              0 },
    { "deformable",   NULL,                                                                     100,   100,  25000,  WORK_TAPS,            0.6 },
    { "npu_sampling",    NULL,                                                                     150,    40,      0,  WORK_NONE,              0 },
    { "npu_choices",  NULL,                                                                      80,    80,      0,  WORK_NONE,              0 },
    { "npu_attention", NULL,                                                                    150,    20,      0,  WORK_SCORES,          175 },
    { "npu_fusion_attention", NULL,                                                             150,    20,      0,  WORK_SCORES,          175 },
    { "npu_attention_parts", NULL,                                                               10,    20,      0,  WORK_SCORES,          175 },
    { "npu_attention_grad", NULL,                                                                10,    20,      0,  WORK_SCORES,          175 },
    { "npu_cached_attention", "atb.npu_paged_cache_load",                                           3,     4,      0,  WORK_NONE,              0 },
    { "npu_cached_attention", NULL,                                                              10,    20,      0,  WORK_SCORES,          175 },
    { "npu_listed_attention", NULL,                                                              10,    20,      0,  WORK_SCORES,          175 },
    { "npu_indexer",  NULL,                                                                    1000,  1000,      0,  WORK_NONE,              0 },
    { "npu_recurrent",NULL,                                                                     7000,  4000,      0,  WORK_STEPS,           1.5 },
    { "npu_products", NULL,                                                                      10,    25,  12500,  WORK_INNER,           0.3 },
    { "npu_gates",    NULL,                                                                      60,   100,      0,  WORK_NONE,              0 },
    { "npu_moe",      NULL,                                                                      60,   100,      0,  WORK_NONE,              0 },
    { "npu_streams",  "npu_mhc_pre",                                                         50,   250,      0,  WORK_NONE,              0 },
    { "npu_streams",  NULL,                                                                      15,   100,      0,  WORK_NONE,              0 },
    { "npu",          "npu_linear_backward|matmul_backward",                                     10,    25,  12500,  WORK_INNER,           0.3 },
    { "npu",          NULL,                                                                      15,   120,      0,  WORK_NONE,              0 },
    { "npu_layout",   NULL,                                                                       3,     4,      0,  WORK_NONE,              0 },
    { "npu_gated",    NULL,                                                                      15,    60,      0,  WORK_NONE,              0 },
    { "npu_norm",     NULL,                                                                      18,    80,      0,  WORK_NONE,              0 },
    { "npu_loss",     NULL,                                                                      15,    40,      0,  WORK_NONE,              0 },
    { "activation",   "gelu|elu|celu|selu",                                                      10,    29,      0,  WORK_NONE,              0 },
    { "activation",   NULL,                                                                       4,    20,      0,  WORK_NONE,              0 },
    { "piecewise",    "relu|leaky_relu|prelu|threshold|hardtanh|relu6",                         9.5,    10,      0,  WORK_NONE,              0 },
    { "piecewise",    "hardswish|hardsigmoid",                                                   12,    60,      0,  WORK_NONE,              0 },
    { "piecewise",    NULL,                                                                       4,    20,      0,  WORK_NONE,              0 },
    { "rrelu",        "rrelu",                                                                   80,    80,      0,  WORK_NONE,              0 },
    { "rrelu",        NULL,                                                                       4,    20,      0,  WORK_NONE,              0 },
    { "softmax",      "gumbel_softmax",                                                          80,    80,      0,  WORK_NONE,              0 },
    { "softmax",      "log_softmax",                                                            7.5,  31.5,      0,  WORK_NONE,              0 },
    { "softmax",      NULL,                                                                      11,    15,      0,  WORK_EXTREMES,     225000 },
    { "cast",         NULL,                                                                       1,     3,      0,  WORK_NONE,              0 },
    { "reduction",    "sum|mean|nansum|nanmean|sum_to_size|trace",                              1.5,   8.5,      0,  WORK_NONE,              0 },
    { "reduction",    "prod",                                                                  28.5,    45,      0,  WORK_NONE,              0 },
    { "reduction",    "logsumexp",                                                              9.5,  41.5,      0,  WORK_NONE,              0 },
    { "reduction",    "any|all|count_nonzero",                                                  2.5,   2.5,      0,  WORK_NONE,              0 },
    { "reduction",    NULL,                                                                     9.5,    11,      0,  WORK_NONE,              0 },
    { "loss_class",   "nll_loss",                                                               5.5,     7,      0,  WORK_NONE,              0 },
    { "loss_class",   NULL,                                                                    12.5,    90,      0,  WORK_NONE,              0 },
    { "compare",      NULL,                                                                       3,     3,      0,  WORK_NONE,              0 },
    { "shape",        NULL,                                                                     1.5,     4,      0,  WORK_NONE,              0 },
    { "parts",        NULL,                                                                     1.5,     4,      0,  WORK_NONE,              0 },
    { "join",         NULL,                                                                       1,   3.5,      0,  WORK_NONE,              0 },
    { "diagonal",     NULL,                                                                       2,     4,      0,  WORK_NONE,              0 },
    { "create",       NULL,                                                                       1,   1.5,      0,  WORK_NONE,              0 },
    { "pool",         NULL,                                                                    12.5,    20,      0,  WORK_NONE,              0 },
    { "embedding",    NULL,                                                                     2.5,     4,      0,  WORK_NONE,              0 },
    { "mask",         NULL,                                                                       5,   7.5,      0,  WORK_NONE,              0 },
    { "nary",         NULL,                                                                       5,  12.5,      0,  WORK_NONE,              0 },
    { "predicate",    NULL,                                                                       3,     3,      0,  WORK_NONE,              0 },
    { "complex",      NULL,                                                                       5,    15,      0,  WORK_NONE,              0 },
    { "loss",         NULL,                                                                      10,    20,      0,  WORK_NONE,              0 },
    { "linalg",       "cross|linalg.cross|cov|corrcoef",                                         10,    20,      0,  WORK_NONE,              0 },
    { "linalg",       "matrix_exp|linalg.matrix_exp",                                         20000, 20000,      0,  WORK_CUBE,            250 },
    { "linalg",       NULL,                                                                    1000,  1000,      0,  WORK_CUBE,              5 },
    { "determinant",  NULL,                                                                    1000,  1000,      0,  WORK_CUBE,              5 },
    { "lu",           NULL,                                                                    1000,  1000,      0,  WORK_CUBE,              5 },
    { "factorization","linalg.eig|linalg.eigvals",                                            15000, 15000,      0,  WORK_CUBE,            100 },
    { "factorization",NULL,                                                                    2500,  2500,      0,  WORK_CUBE,             20 },
    { "packed_factors","eig",                                                                 15000, 15000,      0,  WORK_CUBE,            100 },
    { "packed_factors",NULL,                                                                   3000,  3000,      0,  WORK_CUBE,             30 },
    { "special",      "special.erfcx",                                                   15000, 15000,      0,  WORK_NONE,              0 },
    { "special",      "special.zeta",                                                    34000, 34000,      0,  WORK_NONE,              0 },
    { "special",      "special.i0e|special.i1e",                                          7000,  7000,      0,  WORK_NONE,              0 },
    { "special",      "special.ndtri|special.log_ndtr",                                   4000,  4000,      0,  WORK_NONE,              0 },
    { "special",      "special.bessel_j0|special.bessel_j1|special.airy_ai",              3000,  3000,      0,  WORK_NONE,              0 },
    { "special",      "special.bessel_y0|special.bessel_y1|special.modified_bessel_k0|special.modified_bessel_k1|special.scaled_modified_bessel_k0|special.scaled_modified_bessel_k1", 35000, 35000,      0,  WORK_NONE,              0 },
    { "special",      NULL,                                                                      50,    50,      0,  WORK_NONE,              0 },
    { "distance",     "cdist|pdist",                                                             10,    20,      0,  WORK_PAIRS,            75 },
    { "distance",     NULL,                                                                      24,    24,      0,  WORK_NONE,              0 },
    { "extremum",     NULL,                                                                      10,  10.5,      0,  WORK_NONE,              0 },
    { "order",        NULL,                                                                      80,    65,      0,  WORK_NONE,              0 },
    { "vector_norm",  NULL,                                                                       4,   6.5,      0,  WORK_NONE,              0 },
    { "scan",         NULL,                                                                      10,    30,      0,  WORK_NONE,              0 },
    { "ctc",          NULL,                                                                     500,   500,      0,  WORK_NONE,              0 },
    { "index",        NULL,                                                                       5,     7,      0,  WORK_NONE,              0 },
    { "getitem",      NULL,                                                                       3,     5,      0,  WORK_NONE,              0 },
    { "scatter",      NULL,                                                                       6,     8,      0,  WORK_NONE,              0 },
    { "sort",         NULL,                                                                      30,    30,      0,  WORK_NONE,              0 },
    { "unique",       NULL,                                                                      80,    60,      0,  WORK_NONE,              0 },
    { "candidates",   NULL,                                                                      80,    80,      0,  WORK_NONE,              0 },
    { "mindspore",    NULL,                                                                       5,    10,      0,  WORK_NONE,              0 },
    { "mindspore_formulas", NULL,                                                                 5,    10,      0,  WORK_NONE,              0 },
    { "mindspore_arrays", NULL,                                                                   5,    10,      0,  WORK_NONE,              0 },
    { "mindspore_bands",  NULL,                                                                   5,    10,      0,  WORK_NONE,              0 },
    { "pad",          NULL,                                                                       2,     4,      0,  WORK_NONE,              0 },
    { "interpolate",  NULL,                                                                    16.5,  16.5,      0,  WORK_NONE,              0 },
    { "grid",         NULL,                                                                      48,    55,      0,  WORK_NONE,              0 },
    { "fold",         "unfold|fold",                                                             16,    16,      0,  WORK_NONE,              0 },
    { "fold",         NULL,                                                                       3,   4.5,      0,  WORK_NONE,              0 },
    { "query",        NULL,                                                                     0.5,   0.5,      0,  WORK_NONE,              0 },
    { "histogram",    NULL,                                                                    12.5,  12.5,      0,  WORK_NONE,              0 },
    { "fractional",   NULL,                                                                    17.5,  22.5,      0,  WORK_NONE,              0 },
    { "fourier",      "fft.fftshift|fft.ifftshift|fft.fftfreq|fft.rfftfreq",                      4,     8,      0,  WORK_NONE,              0 },
    { "fourier",      NULL,                                                                     650,   700,      0,  WORK_NONE,              0 },
    { "frames",       NULL,                                                                     650,   700,      0,  WORK_NONE,              0 },
    { "recurrent",    NULL,                                                                     7000,  4000,      0,  WORK_STEPS,           1.5 },
    { "sampling",     NULL,                                                                     100,   100,      0,  WORK_NONE,              0 },
};
/* clang-format on */

/* A family that nobody has measured costs what an average one does. */
static const struct cost_class unmeasured = { NULL, NULL, 10, 20, 0, WORK_NONE, 0 };

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
