/* Rows of a three-way comparison, made number by number, and what is said of them. */
#ifndef PROBE_TESTS_STANDARDS_THREE_WAY_ROWS_H
#define PROBE_TESTS_STANDARDS_THREE_WAY_ROWS_H

#include <check.h>
#include <math.h>
#include <string.h>

#include "standards/three_way/three_way.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

static inline struct three_way_rules *rules_of(const char *profile)
{
    struct three_way_rules *rules = NULL;
    ck_ok(three_way_rules_load(&rules, profile, NULL, NULL));
    return rules;
}

/* A row under construction. */
struct fixture {
    struct three_way_row row;
    struct three_way_side gpu;
};

static inline void set(struct three_way_side *side, enum three_way_metric metric, double value)
{
    side->present |= 1u << metric;
    side->metric[metric] = value;
}

static inline void set_both(struct fixture *f, enum three_way_metric metric, double npu, double gpu)
{
    set(&f->row.npu, metric, npu);
    set(&f->gpu, metric, gpu);
}

static inline struct fixture blank_row(const char *api, const char *dtype)
{
    struct fixture f = { .row = { .api = csv_text_of(api) } };
    f.row.dtype = three_way_dtype(dtype, strlen(dtype));
    return f;
}

/* All five ratios equal to 1 / 1. */
static inline struct fixture benchmark_row(const char *dtype)
{
    struct fixture f = blank_row("softmax", dtype);
    for (enum three_way_metric m = METRIC_SMALL_VALUE; m <= METRIC_BALANCE; m++)
        set_both(&f, m, 1, 1);
    return f;
}

static inline struct three_way_verdict judge(const struct three_way_rules *rules, struct fixture f)
{
    struct three_way_verdict verdict;
    f.row.gpu = &f.gpu;
    three_way_judge(&verdict, rules, &f.row);
    return verdict;
}

static inline struct three_way_verdict judge_under(const char *profile, struct fixture f)
{
    struct three_way_rules *rules = rules_of(profile);
    struct three_way_verdict verdict = judge(rules, f);
    three_way_rules_release(rules);
    return verdict;
}

/* The smallest double above x. */
static inline double above(double x) { return nextafter(x, INFINITY); }

static inline double below(double x) { return nextafter(x, -INFINITY); }

static inline enum verdict cell_verdict(const struct three_way_verdict *v,
                                        enum three_way_column column)
{
    ck_assert_int_eq(v->cells[column].kind, CELL_VERDICT);
    return v->cells[column].verdict;
}

static inline double cell_number(const struct three_way_verdict *v, enum three_way_column column)
{
    ck_assert_int_eq(v->cells[column].kind, CELL_NUMBER);
    return v->cells[column].number;
}

#endif
