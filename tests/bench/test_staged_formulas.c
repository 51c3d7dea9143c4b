/* Functions and gradients in bfloat16, step by step as PyTorch composes them, written out here with every rounding: the search for
 * a kernel gives them to the last bit, the model of staged kernels has room for them, and faults of a unit are not taken for one. */
#include <math.h>
#include <string.h>

#include "bench/samples.h"
#include "standards/staged_fit.h"
#include "support/cases.h"
#include "support/suite.h"

enum { MOST = 1000, OPERANDS = 3 };

static struct arena arena;
static struct sample sample;
static double operand[OPERANDS][MOST], cotangent[MOST];
static size_t length; /* of a line */

static double b(double x) /* x rounded */
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &x, 1);
    dtype_to_double(&x, &bits, DT_BF16, 1);
    return x;
}

#define X operand[0][i]
#define Y operand[1][i]
#define Z operand[2][i]
#define C cotangent[i]
#define KERNEL(NAME, ...) \
    static double NAME(size_t i) { __VA_ARGS__ }

KERNEL(rad2deg, return X * b(180 / M_PI);)
KERNEL(rad2deg_slope, return C * b(180 / M_PI);)
KERNEL(logit, return log(b(X / b(1 - X)));)
KERNEL(xlogy, return X * b(log(Y));)
KERNEL(entr, return -(X * b(log(X)));)
KERNEL(sinc, double angle = b(X * b(M_PI)); return X == 0 ? 1 : b(sin(angle)) / angle;)
KERNEL(mvlgamma, double sum = b(lgamma(b(X - 0.5))) + b(lgamma(X));
       return b(sum) + 0.5 * log(M_PI);)
static double tanh_of_cubic(double x)
{
    double cube = b(b(x * x) * x);
    return b(tanh(b(b(x + b(cube * b(0.044715))) * b(0.79788456080286536))));
}
KERNEL(gelu, return b(X * 0.5) * b(1 + tanh_of_cubic(X));)
KERNEL(gelu_slope, double t = tanh_of_cubic(X), left = b(0.5 * b(1 + t)), rest = b(1 - b(t * t));
       double inner = b(b(1 + b(b(X * X) * b(3 * 0.044715))) * b(0.79788456080286536));
       return C * b(left + b(b(b(X * 0.5) * rest) * inner));)
KERNEL(erf_slope, return b(b(exp(-b(X * X))) * b(M_2_SQRTPI)) * C;)
KERNEL(silu_slope, double s = b(1 / b(1 + b(exp(-X)))); return b(C * s) * b(1 + b(X * b(1 - s)));)
KERNEL(sinc_slope, double angle = b(X * b(M_PI)), below = b(b(X * X) * b(M_PI));
       double above = b(b(angle * b(cos(angle))) - b(sin(angle)));
       return below == 0 ? 0 : C * b(above / below);)
KERNEL(log1p_slope, return C / b(X + 1);)
KERNEL(atan2_slope, double squares = b(b(X * X) + b(Y * Y)); return b(C * Y) * b(1 / squares);)
KERNEL(hypot_slope, return C * b(X / b(hypot(X, Y)));)
KERNEL(logaddexp_slope, return C / b(1 + b(exp(b(Y - X))));)
KERNEL(addcdiv_slope, return -C * b(b(2.5 * Y) / b(Z * Z));)
KERNEL(addcmul_slope, return C * b(Z * 2.5);)
KERNEL(rtruediv, return b(1 / X) * Y;)
KERNEL(lerp_slope, return C * b(1 - Z);)
KERNEL(elu_slope, double y = b(X > 0 ? X : expm1(X)); return y > 0 ? C : C * (y + 1);)
KERNEL(logsigmoid_slope, double e = b(exp(-fabs(X))), share = e / (1 + e);
       return C * (X < 0 ? 1 - share : share);)

static double largest(size_t i)
{
    double most = -INFINITY;
    for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
        most = fmax(most, operand[0][k]);
    return most;
}
static double total(size_t i)
{
    double sum = 0;
    for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
        sum += exp(operand[0][k] - largest(i));
    return sum;
}
KERNEL(log_softmax, return X - largest(i) - b(log(b(total(i))));)
KERNEL(log_softmax_slope, double sum = 0;
       for (size_t k = i / length * length; k < (i / length + 1) * length; k++) sum += cotangent[k];
       return C - exp(b(log_softmax(i))) * b(sum);)

static double difference(size_t i) { return b(b(X - Y) + b(1e-6)); }
static double distance_of(size_t i)
{
    double sum = 0;
    for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
        sum += difference(k) * difference(k);
    return b(sqrt(sum));
}
KERNEL(distance_slope, return cotangent[i / length] * b(difference(i) / distance_of(i));)
KERNEL(huber_slope, double d = b(X - Y), edge = fabs(d) < 0.5 ? d : copysign(0.5, d);
       return b(edge * b(1.0 / 500)) * cotangent[0];)
KERNEL(logits_slope, double s = b(1 / b(1 + b(exp(-X)))); return b(b(s - Y) * cotangent[0]) / 500;)
KERNEL(rsqrt_slope, double y = b(1 / sqrt(X)); return b(C * -0.5) * b(b(y * y) * y);)
KERNEL(alpha_slope, double sum = 0;
       for (size_t k = i; k < 500; k += length) sum += b(cotangent[k] * b(0.3)); return sum;)
KERNEL(glu_slope, size_t at = i % length, half = length / 2;
       double c = cotangent[i / length * half + at % half];
       double s = b(1 / (1 + exp(-operand[0][at < half ? i + half : i])));
       return at < half ? s * c : (1 - s) * s * operand[0][i - half] * c;)

static double sum_of(size_t i, double power, double from)
{
    double sum = 0;
    for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
        sum += pow(operand[0][k] - from, power);
    return sum;
}
KERNEL(std_slope, double n = (double)length, mean = sum_of(i, 1, 0) / n;
       double y = b(sqrt(sum_of(i, 2, mean) / (n - 1)));
       double share = b(b(cotangent[i / length] / b(2 * y)) * b(2 / (n - 1)));
       return share * b(X - b(b(sum_of(i, 1, 0)) / n));)

/* By Euler and Maclaurin: what is left out is below 1e-9 of it. */
static double zeta(double s, double q)
{
    double sum = 0;
    for (; q < 30; q++) sum += pow(q, -s);
    return sum + pow(q, 1 - s) / (s - 1) + pow(q, -s) / 2 + s * pow(q, -s - 1) / 12;
}
KERNEL(polygamma, return 6 * b(zeta(4, Y));)
KERNEL(polygamma_slope, return C * b(-24 * b(zeta(5, Y)));)
KERNEL(divide_slope, return -C * b(b(X / Y) / Y);)
static double floor_quotient(double x, double y)
{
    double rest = fmod(x, y), q = b(b(x - rest) / y);
    if (rest * y < 0) q = b(q - 1);
    return floor(q) + (q - floor(q) > 0.5);
}
KERNEL(remainder_slope, return -C * floor_quotient(X, Y);)
KERNEL(root_slope, return C * b(b(0.5) * b(1 / b(sqrt(X))));)
KERNEL(pow_slope, return C * b(b(1.3) * b(pow(X, b(0.3))));)

static double root_of_squares(size_t i) { return sqrt(sum_of(i, 2, 0)); }
KERNEL(renorm, double norm = root_of_squares(i); return norm > 1 ? X * b(1 / (norm + 1e-7)) : X;)
KERNEL(renorm_slope, double norm = root_of_squares(i), inverse = 1 / (norm + 1e-7), sum = 0;
       for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
           sum += b(operand[0][k] * cotangent[k]);
       return norm > 1 ? inverse * (C - inverse * (X / norm) * sum) : C;)

/* Sums of roots are rounded to the dtype at every term in PyTorch's norms; here once, as in the model. */
KERNEL(half_norm_slope, double sum = 0;
       for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
           sum += sqrt(operand[0][k]);
       double norm = b(sum * sum), scaled = b(b(pow(X, -0.5)) * cotangent[i / length]);
       return scaled * b(sqrt(norm));)

KERNEL(softmax_slope, double sum = 0;
       for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
           sum += cotangent[k] * b(exp(operand[0][k] - largest(k)) / total(k));
       return (C - b(sum)) * b(exp(X - largest(i)) / total(i));)
/* Over the columns of 20. */
KERNEL(softmax_of_columns, double most = -INFINITY, sum = 0;
       for (size_t k = i % 20; k < 500; k += 20) most = fmax(most, operand[0][k]);
       for (size_t k = i % 20; k < 500; k += 20) sum += exp(operand[0][k] - most);
       return b(exp(X - most)) / sum;)
KERNEL(xlogy_slope, return C * b(log(3.15625));)
static double cotangent_of_logarithms(size_t i) { return b(-cotangent[0] * Y); }
KERNEL(cross_entropy_slope, double sum = 0;
       for (size_t k = i / length * length; k < (i / length + 1) * length; k++)
           sum += cotangent_of_logarithms(k);
       double y = b(X - largest(i) - log(total(i)));
       return cotangent_of_logarithms(i) - exp(y) * b(sum);)

/* First differences of cotangents are rounded before their own are taken: where parts of a tensor overlap each sum of two is a step. */
static double difference_at(size_t i, size_t k)
{
    const double *c = cotangent + i / length * (length - 2);
    return b((k > 0 ? c[k - 1] : 0) - (k < length - 2 ? c[k] : 0));
}
KERNEL(diff_slope, size_t k = i % length;
       return (k > 0 ? difference_at(i, k - 1) : 0) - (k < length - 1 ? difference_at(i, k) : 0);)
KERNEL(cumsum_slope, double sum = 0;
       for (size_t k = i; k < (i / length + 1) * length; k++) sum += b(cotangent[k]); return sum;)

/* `gradient`: of which argument, or -1 for the result. */
static const struct {
    const char *call;
    int gradient;
    double (*kernel)(size_t i);
} formulas[] = {
    { "Torch.rad2deg(bf16(500))", -1, rad2deg },
    { "Torch.rad2deg(bf16(500))", 0, rad2deg_slope },
    { "Torch.logit(bf16(500)[0.02..0.98])", -1, logit },
    { "Torch.xlogy(bf16(500), bf16(500)[0.1..4])", -1, xlogy },
    { "Torch.special.entr(bf16(500)[0.02..3])", -1, entr },
    { "Torch.sinc(bf16(500))", -1, sinc },
    { "Torch.sinc(bf16(500)[0.3..3])", 0, sinc_slope },
    { "Torch.mvlgamma(bf16(500)[2..9], 2)", -1, mvlgamma },
    { "Functional.gelu(bf16(500), \"tanh\")", -1, gelu },
    { "Functional.gelu(bf16(500), \"tanh\")", 0, gelu_slope },
    { "Torch.erf(bf16(500))", 0, erf_slope },
    { "Functional.silu(bf16(500))", 0, silu_slope },
    { "Torch.log1p(bf16(500)[0..4])", 0, log1p_slope },
    { "Torch.atan2(bf16(500), bf16(500))", 0, atan2_slope },
    { "Torch.hypot(bf16(500), bf16(500))", 0, hypot_slope },
    { "Torch.logaddexp(bf16(500), bf16(500))", 0, logaddexp_slope },
    { "Torch.addcdiv(bf16(500), bf16(500), bf16(500)[0.5..2], value=2.5)", 2, addcdiv_slope },
    { "Torch.addcmul(bf16(500), bf16(500), bf16(500), value=2.5)", 1, addcmul_slope },
    { "Tensor.__rtruediv__(bf16(500)[0.5..2], bf16(500))", -1, rtruediv },
    { "Functional.pairwise_distance(bf16(20,25), bf16(20,25))", 0, distance_slope },
    { "Functional.huber_loss(bf16(500), bf16(500), delta=0.5)", 0, huber_slope },
    { "Functional.binary_cross_entropy_with_logits(bf16(500), bf16(500)[0..1])", 0, logits_slope },
    { "Torch.lerp(bf16(500), bf16(500), bf16(500)[0..1])", 0, lerp_slope },
    { "Functional.elu(bf16(500))", 0, elu_slope },
    { "Functional.logsigmoid(bf16(500))", 0, logsigmoid_slope },
    { "Functional.log_softmax(bf16(20,25), -1)", -1, log_softmax },
    { "Functional.log_softmax(bf16(20,25), -1)", 0, log_softmax_slope },
    { "Functional.log_softmax(bf16(2,250)[3..5], -1)", 0, log_softmax_slope },
    { "Torch.rsqrt(bf16(500)[0.5..9])", 0, rsqrt_slope },
    { "Torch.add(bf16(5,100), bf16(100), alpha=0.3)", 1, alpha_slope },
    { "Functional.glu(bf16(10,50), -1)", 0, glu_slope },
    { "Torch.diff(bf16(20,25), 2)", 0, diff_slope },
    { "Torch.cumsum(bf16(20,25), 1, dtype=torch.float32)", 0, cumsum_slope },
    { "Torch.std(bf16(20,25), -1)", 0, std_slope },
    { "Torch.polygamma(3, bf16(50)[0.5..6])", -1, polygamma },
    { "Torch.polygamma(3, bf16(50)[0.5..6])", 0, polygamma_slope },
    { "Torch.div(bf16(500), bf16(500)[0.5..2])", 1, divide_slope },
    { "Torch.pow(bf16(500)[0.5..4], 1.3)", 0, pow_slope },
    { "Torch.pow(bf16(500)[0.5..4], 0.5)", 0, root_slope },
    { "Torch.remainder(bf16(500)[20..40], bf16(500)[-0.4..-0.2])", 1, remainder_slope },
    { "Torch.renorm(bf16(20,25), 2, 0, 1)", -1, renorm },
    { "Torch.renorm(bf16(20,25), 2, 0, 1)", 0, renorm_slope },
    { "Torch.linalg.vector_norm(bf16(20,25)[0.2..4], 0.5, [-1])", 0, half_norm_slope },
    { "Torch.softmax(bf16(20,25), -1)", 0, softmax_slope },
    { "Torch.softmax(bf16(25,20), 0)", -1, softmax_of_columns },
    { "Torch.xlogy(bf16(500)[0.5..4], 3.15625)", 0, xlogy_slope },
    { "Functional.cross_entropy(bf16(20,25), bf16(20,25)[0..1], reduction=\"sum\")", 0,
      cross_entropy_slope },
};

static void read_elements(double *out, const struct value *value)
{
    const struct tensor *t = value->tensor.tensor;
    ck_assert_uint_le(tensor_elements(t), MOST);
    dtype_to_double(out, t->data, t->dtype, tensor_elements(t));
}

/* Cotangents with as many digits as their dtype has. */
static void lengthen(const struct value *value)
{
    const struct tensor *t = value->tensor.tensor;
    read_elements(cotangent, value);
    for (size_t i = 0; i < tensor_elements(t); i++) cotangent[i] *= 1.2345678;
    dtype_from_double(t->data, t->dtype, cotangent, tensor_elements(t));
    read_elements(cotangent, value);
}

/* The reference of the result or the gradient, after its operands and cotangents have been read. */
static struct reference *open_formula(int k)
{
    struct bench *bench;
    struct bench_output *gradients;
    static struct value cotangents; /* the bench reads them later */
    struct numbers numbers = { 11 };
    size_t count;
    arena_reset(&arena);
    const char *wrong = sample_parse(&sample, arena_copy_string(&arena, formulas[k].call), &arena);
    ck_assert_msg(!wrong, "%s: %s", formulas[k].call, wrong);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    for (size_t i = 0; i < sample.c.args.list.count && i < OPERANDS; i++)
        if (sample.c.args.list.items[i].kind == VALUE_TENSOR)
            read_elements(operand[i], &sample.c.args.list.items[i]);
    struct reference *r = &bench_output(bench, 0)->reference;
    if (r->rank) length = (size_t)r->shape[r->rank - 1];
    if (formulas[k].gradient < 0) return r;
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    lengthen(&cotangents.list.items[0]);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    r = &gradients[formulas[k].gradient].reference;
    length = (size_t)r->shape[r->rank - 1];
    return r;
}

static struct staged_fit fit_of(struct reference *r, const double *got)
{
    struct value value = tensor_value(&arena, DT_BF16, false, r->rank, r->shape, got, r->n);
    struct staged_fit fit;
    bool can;
    ck_assert_int_eq(staged_fit_find(&fit, &can, &arena, r, value.tensor.tensor, 1).code,
                     STATUS_OK);
    ck_assert(can);
    return fit;
}

START_TEST(formulas_are_found)
{
    static double got[MOST];
    struct reference *r = open_formula(_i);
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_bound);
    for (size_t i = 0; i < r->n; i++) {
        got[i] = b(formulas[_i].kernel(i));
        double unit = dtype_ulp(DT_BF16, r->hi[i]), error = fabs(got[i] - r->hi[i]);
        ck_assert_msg(error <= r->staged_bound[i] + unit / 2, "%s: element %zu is %g and %g staged",
                      formulas[_i].call, i, r->hi[i], got[i]);
    }
    struct staged_fit fit = fit_of(r, got);
    ck_assert_uint_gt(fit.differing, 4);
    ck_assert_msg(fit.share > 0.95, "%s: %g of %zu", formulas[_i].call, fit.share, fit.differing);
    ck_assert_double_lt(fit.chance, 1e-3);
}
END_TEST

/* Up or down by a unit at random, and all by one unit away from 0. */
START_TEST(faults_are_none_of_them)
{
    static double got[MOST];
    struct reference *r = open_formula(_i);
    for (int fault = 0; fault < 2; fault++) {
        uint64_t state = 1;
        for (size_t i = 0; i < r->n; i++) {
            double right = b(r->hi[i]), unit = dtype_ulp(DT_BF16, right);
            state = state * 6364136223846793005u + 1442695040888963407u;
            bool up = fault ? right > 0 : state >> 63;
            got[i] = b(right + (up ? unit : -unit));
        }
        struct staged_fit fit = fit_of(r, got);
        ck_assert_msg(fit.share < 0.55, "%s, fault %d: %g", formulas[_i].call, fault, fit.share);
    }
}
END_TEST

/* 300 (2^7.9 ln 2) is a number of float16, and 300 2^7.9 is not: what is made of it is open. */
START_TEST(factors_may_overflow_on_the_way)
{
    struct bench *bench;
    struct bench_output *gradients;
    struct value cotangents;
    struct numbers numbers = { 11 };
    size_t count;
    arena_reset(&arena);
    ck_assert_ptr_null(sample_parse(
        &sample, arena_copy_string(&arena, "Torch.exp2(f16(3)[7.9 7.9 7.9])"), &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    dtype_from_double(cotangents.list.items[0].tensor.tensor->data, DT_F16,
                      (const double[]){ 100, 300, 1000 }, 3);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    struct reference *r = &gradients[0].reference;
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_double_lt(r->hi[1], 65504);
    ck_assert(isfinite(r->staged_bound[0]) && isinf(r->staged_bound[1]));
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    const int count = (int)(sizeof formulas / sizeof *formulas);
    Suite *suite = suite_create("staged formulas");
    TCase *tcase = tcase_create("staged formulas");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, formulas_are_found, 0, count);
    tcase_add_loop_test(tcase, faults_are_none_of_them, 0, count);
    tcase_add_test(tcase, factors_may_overflow_on_the_way);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
