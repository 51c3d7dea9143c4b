/* Rows as the details files have them, handed to three_way_judge as compare/details.c does. */
#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"
#include "standards/three_way/three_way.h"

enum { DOC, STRICT, RULES };

struct pair_score {
    size_t tried, errors[RULES], warnings[RULES], passes[RULES];
};
static struct pair_score scores[PAIR_KINDS][PAIR_CLASSES];
static struct three_way_rules *rules[RULES];

void pairs_open(void)
{
    if (three_way_rules_load(&rules[DOC], "doc", NULL, NULL).code ||
        three_way_rules_load(&rules[STRICT], "strict", NULL, NULL).code)
        exit(2);
}

static void read_metrics(struct three_way_side *side, const struct judged *judged)
{
    for (int column = 0; column < COLUMN_COUNT; column++)
        for (int m = 0; m < THREE_WAY_METRICS; m++) {
            const char *cell = judged->cells[column];
            if (strcmp(details_headers[column], three_way_metric_headers[m]) != 0) continue;
            if (!csv_read_number(&side->metric[m], (struct csv_text){ cell, strlen(cell) }))
                continue;
            side->present |= 1u << m;
        }
}

struct evidence_copy {
    struct evidence_limit limits[JUDGED_LIMITS];
    struct row_evidence evidence;
};

static struct three_way_side side_of(struct evidence_copy *copy, const struct judged *judged)
{
    struct three_way_side side = { .status = judged->verdict, .by_model = true };
    for (size_t i = 0; i < judged->limit_count; i++)
        copy->limits[i] = (struct evidence_limit){ judged->limits[i].metric,
                                                   judged->limits[i].value, judged->limits[i].limit,
                                                   judged->limits[i].holds };
    copy->evidence = (struct row_evidence){ copy->limits, judged->limit_count };
    side.evidence = &copy->evidence;
    read_metrics(&side, judged);
    return side;
}

static enum verdict compare(int which, const char *api, enum dtype dtype, const struct judged *npu,
                            const struct judged *gpu)
{
    struct evidence_copy copies[2];
    struct three_way_verdict verdict;
    const char *name = dtype_info(dtype)->name;
    struct three_way_side other = side_of(&copies[1], gpu);
    const struct three_way_row row = { .api = csv_text_of(api),
                                       .dtype = three_way_dtype(name, strlen(name)),
                                       .npu = side_of(&copies[0], npu),
                                       .gpu = &other };
    three_way_judge(&verdict, rules[which], &row);
    return verdict.verdict;
}

void pairs_count(enum pair_kind kind, int class, const char *api, enum dtype dtype,
                 const struct pair_side *npu, const struct pair_side *gpu)
{
    const enum verdict verdicts[RULES] = {
        [DOC] = compare(DOC, api, dtype, &npu->doc, &gpu->doc),
        [STRICT] = compare(STRICT, api, dtype, &npu->strict, &gpu->strict),
    };
    struct pair_score *score = &scores[kind][class];
    score->tried++;
    for (int r = 0; r < RULES; r++) {
        score->errors[r] += verdicts[r] == VERDICT_ERROR;
        score->warnings[r] += verdicts[r] == VERDICT_WARNING;
        score->passes[r] += verdicts[r] == VERDICT_PASS;
    }
}

static void print_row(const char *kind, const char *class, const struct pair_score *score)
{
    double all = (double)(score->tried ? score->tried : 1) / 100;
    printf("%-34s %-6s %7zu   ", kind, class, score->tried);
    for (int r = 0; r < RULES; r++)
        printf(" %6.2f %6.2f %6.2f   ", (double)score->errors[r] / all,
               (double)score->warnings[r] / all, (double)score->passes[r] / all);
    printf("\n");
}

void pairs_print(const char *const *class_names)
{
    printf("%-34s %-6s %7s    doc:  error, warning, pass %%   strict: error, warning, pass %%\n",
           "NPU, GPU", "fault", "pairs");
    print_row("right, right", "", &scores[PAIR_HONEST][0]);
    for (int class = 0; class < PAIR_CLASSES; class ++)
        print_row("right, wrong", class_names[class], &scores[PAIR_FAULTY_GPU][class]);
    for (int class = 0; class < PAIR_CLASSES; class ++)
        print_row("wrong, right", class_names[class], &scores[PAIR_FAULTY_NPU][class]);
    for (int class = 0; class < PAIR_CLASSES; class ++)
        print_row("wrong, wrong in the same way", class_names[class],
                  &scores[PAIR_FAULTY_ALIKE][class]);
}
