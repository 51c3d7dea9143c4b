/* Calls made with a wrong argument, on wrong inputs, by another formula or another function: kernels written out as
 * loops. */
#include "rows.h"

enum { ROWS = 12, WIDTH = 40 };

struct layer {
    struct api_case c;
    double *x, *w, *b, y[ROWS * WIDTH];
};

static struct layer open_layer(enum dtype dtype, double offset, double size)
{
    struct layer l;
    double x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = offset + size * random_number();
    struct value input =
        tensor_value(&arena, dtype, true, 2, (int64_t[]){ ROWS, WIDTH }, x, ROWS * WIDTH);
    struct value w = random_value(dtype, 1, (int64_t[]){ WIDTH }),
                 b = random_value(dtype, 1, (int64_t[]){ WIDTH });
    l.x = elements_of(&input);
    l.w = elements_of(&w);
    l.b = elements_of(&b);
    l.c = make_case(&arena, "Functional", "layer_norm",
                    list_value(&arena, 4, input, list_value(&arena, 1, int_value(WIDTH)), w, b));
    return l;
}

/* What a layer norm may get wrong. */
struct norm {
    double eps, bias; /* times the bias */
    int divisor;
    int one_pass, half_mean, next_weight;
};
static const struct norm honest = { 1e-5, 1, WIDTH, 0, 0, 0 };

static void normalize(struct layer *l, const struct norm *norm)
{
    for (int i = 0; i < ROWS; i++) {
        const double *x = &l->x[i * WIDTH];
        float sum = 0, squares = 0;
        for (int j = 0; j < WIDTH; j++) sum += (float)x[j];
        float mean = sum / WIDTH;
        if (norm->half_mean) {
            uint16_t bits;
            dtype_from_float(&bits, DT_F16, &mean, 1);
            dtype_to_float(&mean, &bits, DT_F16, 1);
        }
        for (int j = 0; j < WIDTH; j++) {
            float d = norm->one_pass ? (float)x[j] : (float)x[j] - mean;
            squares += d * d;
        }
        float variance = squares / (float)norm->divisor;
        if (norm->one_pass) variance = fmaxf(variance - mean * mean, 0);
        float scale = 1 / sqrtf(variance + (float)norm->eps);
        for (int j = 0; j < WIDTH; j++) {
            double w = l->w[norm->next_weight ? (j + 1) % WIDTH : j];
            l->y[i * WIDTH + j] = ((float)x[j] - mean) * scale * (float)w +
                                  (float)(norm->bias * l->b[j]);
        }
    }
}

static struct findings of_norm(const struct norm *norm, enum dtype dtype, double offset,
                               double size)
{
    struct layer l = open_layer(dtype, offset, size);
    normalize(&l, norm);
    return diagnosed(&l.c, l.y);
}

START_TEST(an_honest_layer_norm)
{
    struct findings f = of_norm(&honest, DT_F32, 0, 1);
    ck_assert_uint_eq(f.count, 0);
}
END_TEST

START_TEST(bias_missing_or_added_twice)
{
    struct norm norm = honest;
    norm.bias = 0;
    struct findings f = of_norm(&norm, DT_F32, 0, 1);
    assert_looks_like(&f, "bias", 0.99);
    norm.bias = 2;
    f = of_norm(&norm, DT_BF16, 0, 1);
    assert_looks_like(&f, "bias", 0.99);
}
END_TEST

START_TEST(another_eps)
{
    struct norm norm = honest;
    norm.eps = 1e-3;
    struct findings f = of_norm(&norm, DT_F32, 0, 0.05);
    assert_looks_like(&f, "eps", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "eps taken for 0.001");
}
END_TEST

START_TEST(variance_over_n_less_one)
{
    struct norm norm = honest;
    norm.divisor = WIDTH - 1;
    struct findings f = of_norm(&norm, DT_F32, 0, 1);
    assert_looks_like(&f, "divisor", 0.99);
}
END_TEST

START_TEST(variance_in_one_pass)
{
    struct norm norm = honest;
    norm.one_pass = 1;
    struct findings f = of_norm(&norm, DT_F32, 80, 0.5);
    assert_looks_like(&f, "one-pass variance", 0.9);
}
END_TEST

START_TEST(mean_kept_in_float16)
{
    struct norm norm = honest;
    norm.half_mean = 1;
    struct findings f = of_norm(&norm, DT_F32, 20, 1);
    assert_looks_like(&f, "rounded intermediates", 0.95);
}
END_TEST

START_TEST(weight_of_the_next_channel)
{
    struct norm norm = honest;
    norm.next_weight = 1;
    struct findings f = of_norm(&norm, DT_F16, 0, 1);
    assert_looks_like(&f, "shifted", 0.99);
    ck_assert_ptr_nonnull(strstr(f.items[0].sentence, "weight"));
}
END_TEST

/* ---- one tensor in, one out ------------------------------------------------------------------------------------- */

struct row {
    struct api_case c;
    double *x, y[ROWS * WIDTH];
};

static struct row open_row(const char *type, const char *api, double low, double high,
                           struct value argument)
{
    struct row r;
    double x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = low + (high - low) * (random_number() + 1) / 2;
    struct value input =
        tensor_value(&arena, DT_F32, true, 2, (int64_t[]){ ROWS, WIDTH }, x, ROWS * WIDTH);
    r.x = elements_of(&input);
    r.c = make_case(&arena, type, api,
                    argument.kind == VALUE_NONE ? list_value(&arena, 1, input)
                                                : list_value(&arena, 2, input, argument));
    return r;
}

START_TEST(the_other_gelu)
{
    struct row r = open_row("Functional", "gelu", -4, 4, none_value());
    for (int i = 0; i < ROWS * WIDTH; i++) {
        float x = (float)r.x[i];
        r.y[i] = 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "other form", 0.99);
}
END_TEST

START_TEST(a_slope_of_a_tenth)
{
    struct row r = open_row("Functional", "leaky_relu", -4, 4, none_value());
    for (int i = 0; i < ROWS * WIDTH; i++) r.y[i] = r.x[i] < 0 ? 0.1f * (float)r.x[i] : r.x[i];
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "argument ignored", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "negative_slope taken for 0.1");
}
END_TEST

START_TEST(truncation_for_floor)
{
    struct row r = open_row("Torch", "floor", -20, 20, none_value());
    for (int i = 0; i < ROWS * WIDTH; i++) r.y[i] = trunc(r.x[i]);
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "other function", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "trunc instead of floor");
}
END_TEST

START_TEST(softmax_along_the_other_axis)
{
    struct row r = open_row("Torch", "softmax", -4, 4, int_value(1));
    for (int j = 0; j < WIDTH; j++) {
        double sum = 0;
        for (int i = 0; i < ROWS; i++) sum += exp(r.x[i * WIDTH + j]);
        for (int i = 0; i < ROWS; i++) r.y[i * WIDTH + j] = exp(r.x[i * WIDTH + j]) / sum;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "wrong axis", 0.99);
}
END_TEST

START_TEST(softmax_without_the_maximum)
{
    struct row r = open_row("Torch", "softmax", 60, 120, int_value(1));
    for (int i = 0; i < ROWS; i++) {
        float sum = 0;
        for (int j = 0; j < WIDTH; j++) sum += expf((float)r.x[i * WIDTH + j]);
        for (int j = 0; j < WIDTH; j++) r.y[i * WIDTH + j] = expf((float)r.x[i * WIDTH + j]) / sum;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "no max subtraction", 0.99);
}
END_TEST

START_TEST(cumulative_sum_in_float16)
{
    struct row r = open_row("Torch", "cumsum", -1, 2, int_value(1));
    for (int i = 0; i < ROWS; i++) {
        float sum = 0;
        for (int j = 0; j < WIDTH; j++) {
            uint16_t bits;
            sum += (float)r.x[i * WIDTH + j];
            dtype_from_float(&bits, DT_F16, &sum, 1);
            dtype_to_float(&sum, &bits, DT_F16, 1);
            r.y[i * WIDTH + j] = sum;
        }
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "narrow accumulation", 0.99);
}
END_TEST

/* A gradient that a kernel computes in float32 where the reference takes it for float64: no mistake is named. */
START_TEST(plain_arithmetic_is_no_mistake)
{
    struct row r = open_row("Torch", "cumsum", -1, 1, int_value(1));
    double y[ROWS * WIDTH], cotangents[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) cotangents[i] = random_number();
    r.c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(DT_F64));
    r.c.cotangents = list_value(&arena, 1,
                                tensor_value(&arena, DT_F64, false, 2, (int64_t[]){ ROWS, WIDTH },
                                             cotangents, ROWS * WIDTH));
    r.c.has_backward = true;
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int k = WIDTH - 1; k >= 0; k--)
            y[row * WIDTH + k] = sum += (float)cotangents[row * WIDTH + k];
    }
    struct findings f = diagnosed_gradient(&r.c, y);
    ck_assert_msg(!f.count, "%s", f.items[0].sentence);
}
END_TEST

START_TEST(sum_for_mean)
{
    struct row r = open_row("Torch", "mean", -1, 2, int_value(1));
    for (int i = 0; i < ROWS; i++) {
        float sum = 0;
        for (int j = 0; j < WIDTH; j++) sum += (float)r.x[i * WIDTH + j];
        r.y[i] = sum;
    }
    struct findings f = diagnosed(&r.c, r.y);
    ck_assert(f.count && f.items[0].explains > 0.99);
    ck_assert_msg(!strcmp(f.items[0].class, "other function") ||
                      !strcmp(f.items[0].class, "wrong scale") ||
                      !strcmp(f.items[0].class, "missing step"),
                  "%s", f.items[0].sentence);
}
END_TEST

START_TEST(nan_swallowed_by_a_maximum)
{
    struct row r = open_row("Torch", "amax", -1, 2, int_value(1));
    struct value *input = &r.c.args.list.items[0];
    float *x = input->tensor.tensor->data;
    for (int i = 0; i < ROWS; i += 3) x[i * WIDTH + 5] = NAN;
    for (int i = 0; i < ROWS; i++) {
        float most = -INFINITY;
        for (int j = 0; j < WIDTH; j++) most = fmaxf(most, x[i * WIDTH + j]);
        r.y[i] = most;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "nan swallowed", 0.99);
}
END_TEST

START_TEST(rows_of_an_embedding_off_by_one)
{
    double indices[30], y[30 * 8];
    for (int i = 0; i < 30; i++) indices[i] = i * 7 % 19;
    struct value index = tensor_value(&arena, DT_I64, false, 1, (int64_t[]){ 30 }, indices, 30);
    struct value table = random_value(DT_F32, 2, (int64_t[]){ 20, 8 });
    struct api_case c =
        make_case(&arena, "Functional", "embedding", list_value(&arena, 2, index, table));
    const double *w = elements_of(&table);
    for (int i = 0; i < 30; i++) memcpy(&y[i * 8], &w[((int)indices[i] + 1) * 8], 8 * sizeof *y);
    struct findings f = diagnosed(&c, y);
    assert_looks_like(&f, "index off by one", 0.9);
}
END_TEST

/* 3 x 3 windows over 10 x 10, padding 1: the edge repeated instead of zeros. */
START_TEST(convolution_that_repeats_the_edge)
{
    enum { SIDE = 10 };
    struct value x = random_value(DT_F32, 4, (int64_t[]){ 1, 2, SIDE, SIDE }),
                 w = random_value(DT_F32, 4, (int64_t[]){ 3, 2, 3, 3 });
    struct api_case c =
        make_case(&arena, "Functional", "conv2d",
                  list_value(&arena, 5, x, w, none_value(), int_value(1), int_value(1)));
    const double *in = elements_of(&x), *k = elements_of(&w);
    double y[3 * SIDE * SIDE];
    for (int o = 0; o < 3; o++)
        for (int r = 0; r < SIDE; r++)
            for (int q = 0; q < SIDE; q++) {
                float sum = 0;
                for (int t = 0; t < 18; t++) {
                    int row = r + t % 9 / 3 - 1, column = q + t % 3 - 1;
                    row = row < 0 ? 0 : row == SIDE ? SIDE - 1 : row;
                    column = column < 0 ? 0 : column == SIDE ? SIDE - 1 : column;
                    sum += (float)in[(t / 9 * SIDE + row) * SIDE + column] * (float)k[o * 18 + t];
                }
                y[(o * SIDE + r) * SIDE + q] = sum;
            }
    struct findings f = diagnosed(&c, y);
    assert_looks_like(&f, "padding", 0.99);
    ck_assert_str_eq(f.items[0].sentence, "padding repeats the edge");
}
END_TEST

/* ---- results that are no floats -------------------------------------------------------------------------------- */

START_TEST(indices_that_count_from_one)
{
    struct row r = open_row("Torch", "argmax", -4, 4, int_value(1));
    for (int i = 0; i < ROWS; i++) {
        int best = 0;
        for (int j = 0; j < WIDTH; j++)
            if (r.x[i * WIDTH + j] > r.x[i * WIDTH + best]) best = j;
        r.y[i] = best + 1;
    }
    struct findings f = diagnosed(&r.c, r.y);
    assert_looks_like(&f, "index off by one", 0.99);
}
END_TEST

START_TEST(comparisons_turned_round)
{
    struct row r = open_row("Torch", "gt", -4, 4, float_value(0.5));
    for (int i = 0; i < ROWS * WIDTH; i++) r.y[i] = !((float)r.x[i] > 0.5f);
    struct findings f = diagnosed(&r.c, r.y);
    ck_assert(f.count && f.items[0].explains > 0.99);
    ck_assert_msg(!strcmp(f.items[0].class, "inverted condition") ||
                      !strcmp(f.items[0].class, "other function"),
                  "%s", f.items[0].sentence);
}
END_TEST

/* The imaginary part negated in a product of complex numbers: nothing has to be found, and nothing may go wrong. */
START_TEST(complex_results_are_pairs)
{
    double elements[2 * 48], got[2 * 48];
    for (int i = 0; i < 96; i++) elements[i] = random_number();
    struct tensor *t = arena_allocate(&arena, sizeof *t);
    ck_assert_int_eq(tensor_create(t, &arena, DT_C64, 2, (int64_t[]){ 6, 8 }).code, 0);
    dtype_from_double(t->data, DT_C64, elements, 48);
    dtype_to_double(elements, t->data, DT_C64, 48);
    struct tensor_record *record = arena_allocate_zeroed(&arena, 1, sizeof *record);
    record->dtype = DT_C64;
    record->rank = 2;
    record->shape[0] = 6;
    record->shape[1] = 8;
    struct value z = { .kind = VALUE_TENSOR, .tensor = { record, t } };
    struct api_case c = make_case(&arena, "Torch", "mul", list_value(&arena, 2, z, z));
    for (int i = 0; i < 48; i++) {
        double re = elements[2 * i], im = elements[2 * i + 1];
        got[2 * i] = (re * re - im * im) / 2;
        got[2 * i + 1] = re * im;
    }
    struct findings f = diagnosed(&c, got);
    assert_looks_like(&f, "wrong scale", 0.99);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { an_honest_layer_norm,
                                   bias_missing_or_added_twice,
                                   another_eps,
                                   variance_over_n_less_one,
                                   variance_in_one_pass,
                                   mean_kept_in_float16,
                                   weight_of_the_next_channel,
                                   the_other_gelu,
                                   a_slope_of_a_tenth,
                                   truncation_for_floor,
                                   softmax_along_the_other_axis,
                                   softmax_without_the_maximum,
                                   cumulative_sum_in_float16,
                                   plain_arithmetic_is_no_mistake,
                                   sum_for_mean,
                                   nan_swallowed_by_a_maximum,
                                   rows_of_an_embedding_off_by_one,
                                   convolution_that_repeats_the_edge,
                                   indices_that_count_from_one,
                                   comparisons_turned_round,
                                   complex_results_are_pairs };
    return run_tests("diagnosis of calls", tests, sizeof tests / sizeof *tests);
}
