/* A device that returns the same bits every time, and devices that do not, by how many elements and how far. */
#include <check.h>
#include <math.h>

#include "runner/repeats.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;

/* A device whose memory is its own: every run writes to the same place. */
struct wavering {
    struct device device;
    int runs, wrong_at; /* the run that fails, 0: none */
    float elements[4];
    void (*change)(float elements[4], int run);
    struct tensor tensor;
    struct value items[1];
};

static struct status run(struct device *device, struct device_result *out, struct arena *in,
                         const struct api_case *c, bool want_gradients)
{
    struct wavering *w = (struct wavering *)device;
    (void)in, (void)c;
    w->runs++;
    if (w->runs == w->wrong_at) return status_error(STATUS_DEVICE, "it fell over");
    for (int i = 0; i < 4; i++) w->elements[i] = (float)(i + 1);
    w->change(w->elements, w->runs);
    w->items[0] = (struct value){ .kind = VALUE_TENSOR };
    w->items[0].tensor.tensor = &w->tensor;
    *out = (struct device_result){ .outputs = { .kind = VALUE_LIST } };
    out->outputs.list.items = w->items;
    out->outputs.list.count = 1;
    if (want_gradients) out->gradients = out->outputs;
    return status_ok();
}

static const struct device_class wavering_class = { .name = "wavering", .run = run };

static struct status repeated(struct repeats *out, struct device_result *first, struct wavering *w,
                              void (*change)(float[4], int), int64_t runs, int wrong_at)
{
    const int64_t shape[1] = { 4 };
    struct api_case c = make_case(&arena, "Torch", "abs", list_value(&arena, 0));
    *w = (struct wavering){ .device.class = &wavering_class,
                            .change = change,
                            .wrong_at = wrong_at };
    ck_assert_int_eq(tensor_create(&w->tensor, &arena, DT_F32, 1, shape).code, 0);
    w->tensor.data = w->elements;
    c.has_backward = true;
    ck_assert_int_eq(run(&w->device, first, &arena, &c, true).code, 0);
    /* Lists that the device may write to belong to it: the caller has its own. */
    struct value *own = arena_allocate_zeroed(&arena, 2, sizeof *own);
    own[0] = first->outputs.list.items[0];
    own[1] = first->gradients.list.items[0];
    first->outputs.list.items = own;
    first->gradients.list.items = own + 1;
    return repeats_run(out, &arena, &w->device, &c, first, runs);
}

static void nothing(float elements[4], int n) { (void)elements, (void)n; }
/* Every other run the last element is two units up, and once the first one is -0. */
static void two_units(float elements[4], int n)
{
    if (n % 2 == 0) elements[3] = 4 + 2 * 0x1p-21f;
}
static void signs_of_zero(float elements[4], int n) { elements[0] = n == 3 ? -0.f : 0.f; }
static void kinds(float elements[4], int n) { elements[1] = n == 2 ? NAN : 1; }

START_TEST(differences)
{
    static const struct {
        void (*change)(float[4], int);
        int64_t runs;
        size_t differing;
        double largest_ulp;
    } rows[] = {
        { nothing, 5, 0, 0 },       { two_units, 2, 1, 2 },     { two_units, 5, 1, 2 },
        { signs_of_zero, 2, 0, 0 }, { signs_of_zero, 3, 1, 0 }, { kinds, 3, 1, INFINITY },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct repeats repeats;
        struct device_result first;
        struct wavering w;
        struct status status = repeated(&repeats, &first, &w, rows[i].change, rows[i].runs, 0);
        ck_assert_int_eq(status.code, 0);
        ck_assert_int_eq(w.runs, rows[i].runs);
        for (int k = 0; k < 2; k++) {
            ck_assert_uint_eq(repeats.count[k], 1);
            const struct run_difference *d = repeats.of[k];
            ck_assert_uint_eq(d->runs, rows[i].runs);
            ck_assert_uint_eq(d->elements, 4);
            ck_assert_uint_eq(d->differing, rows[i].differing);
            ck_assert(d->largest_ulp == rows[i].largest_ulp);
        }
    }
}
END_TEST

/* What is judged is the first result, whatever the device does with its memory later. */
START_TEST(the_first_result_stays)
{
    struct repeats repeats;
    struct device_result first;
    struct wavering w;
    ck_assert_int_eq(repeated(&repeats, &first, &w, two_units, 2, 0).code, 0);
    ck_assert(w.elements[3] != 4);
    ck_assert(((const float *)first.outputs.list.items[0].tensor.tensor->data)[3] == 4);
}
END_TEST

START_TEST(one_run_is_no_repeat)
{
    struct repeats repeats;
    struct device_result first;
    struct wavering w;
    ck_assert_int_eq(repeated(&repeats, &first, &w, two_units, 1, 0).code, 0);
    ck_assert_int_eq(w.runs, 1);
    ck_assert_uint_eq(repeats.count[0], 0);
    ck_assert_int_eq(repeated(&repeats, &first, &w, two_units, 0, 0).code, 0);
    ck_assert_int_eq(w.runs, 1);
}
END_TEST

START_TEST(a_later_failure_is_one)
{
    struct repeats repeats;
    struct device_result first;
    struct wavering w;
    struct status status = repeated(&repeats, &first, &w, nothing, 4, 3);
    ck_assert_int_eq(status.code, STATUS_DEVICE);
    ck_assert_int_eq(w.runs, 3);
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("repeats");
    TCase *tcase = tcase_create("repeats");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, differences);
    tcase_add_test(tcase, the_first_result_stays);
    tcase_add_test(tcase, one_run_is_no_repeat);
    tcase_add_test(tcase, a_later_failure_is_one);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
