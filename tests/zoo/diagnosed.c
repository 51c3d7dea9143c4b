/* A fault is caught by rows that are errors. What most of them are called first is what the fault is called; among three
 * counts when most of them have the right class at any place. A row's finding is confident above nine tenths. */
#include "diagnosed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnoses.h"

#define ROW(NAME, classes) { #NAME, classes },
static const struct {
    const char *fault, *classes;
} expected[] = { DIAGNOSES(ROW) };
#undef ROW
enum { EXPECTED = sizeof expected / sizeof *expected, FINDINGS = 3, NAME = 64, NAMES = 64 };

struct score {
    int faults, first, among_three;   /* of kinds that have a class */
    int others, confident;            /* of other kinds */
    int rows, rows_first, rows_three; /* of those with a class */
};
static struct score seen, kept;

/* Faults of an expected class that were called something else. */
static struct {
    char expected[NAME], called[NAME];
    int count;
} confusion[1024];
static int confusions;

static int is_right(const char *classes, const char *class)
{
    size_t length = strlen(class);
    for (const char *at = classes; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == length && !strncmp(at, class, length)) return 1;
    return 0;
}

struct row {
    char class[FINDINGS][NAME];
    double explains[FINDINGS];
    int count;
};

/* The findings on a line of evidence; -1 when the row is no error or was not diagnosed. */
static int read_row(struct row *row, const char *line)
{
    const char *at = strstr(line, "\"diagnosis\":[");
    row->count = 0;
    if (!at || !strstr(line, "\"verdict\":\"error\"")) return -1;
    while (row->count < FINDINGS && (at = strstr(at, "{\"class\":\""))) {
        const char *explains = strstr(at, "\"explains\":"), *end = strchr(at, '}');
        size_t length = strcspn(at + 10, "\"");
        if (length >= NAME) length = NAME - 1;
        snprintf(row->class[row->count], NAME, "%.*s", (int)length, at + 10);
        row->explains[row->count] = explains && explains < end ? atof(explains + 11) : 0;
        if (!strcmp(row->class[row->count], "unknown")) break;
        row->count++;
        at = end;
    }
    return 0;
}

/* Names and how many rows had them first. */
struct names {
    char name[NAMES][NAME];
    int rows[NAMES], confident[NAMES], count;
};

static void count_name(struct names *names, const char *name, int confident)
{
    int i = 0;
    while (i < names->count && strcmp(names->name[i], name)) i++;
    if (i == NAMES) return;
    if (i == names->count) snprintf(names->name[names->count++], NAME, "%s", name);
    names->rows[i]++;
    names->confident[i] += confident;
}

static void count_confusion(const char *classes, const char *called)
{
    int i = 0;
    const char *name = *classes ? classes : "(no hypothesis)";
    while (i < confusions &&
           (strcmp(confusion[i].expected, name) || strcmp(confusion[i].called, called)))
        i++;
    if (i == confusions) {
        snprintf(confusion[i].expected, NAME, "%s", name);
        snprintf(confusion[i].called, NAME, "%s", called);
        confusion[confusions++].count = 0;
    }
    confusion[i].count++;
}

void diagnosed_add(const char *fault, const char *dtype, const char *evidence)
{
    static char line[1 << 20];
    int index = 0, rows = 0, first = 0, three = 0;
    struct names names = { .count = 0 };
    struct row row;
    FILE *in = fopen(evidence, "r");
    while (index < EXPECTED && strcmp(expected[index].fault, fault)) index++;
    if (!in || index == EXPECTED) {
        fprintf(stderr, "%s: no evidence, or no class in diagnoses.h\n", fault);
        exit(2);
    }
    const char *classes = expected[index].classes;
    while (fgets(line, sizeof line, in)) {
        if (read_row(&row, line)) continue;
        int any = 0;
        for (int k = 0; k < row.count; k++) any |= is_right(classes, row.class[k]);
        rows++;
        first += row.count && is_right(classes, row.class[0]);
        three += any;
        count_name(&names, row.count ? row.class[0] : "unknown",
                   row.count && row.explains[0] > 0.9);
    }
    fclose(in);
    if (!rows) return;
    int best = 0;
    for (int i = 1; i < names.count; i++)
        if (names.rows[i] > names.rows[best]) best = i;
    struct score *score = index % 4 == 3 ? &kept : &seen;
    if (*classes) {
        score->faults++;
        score->first += is_right(classes, names.name[best]);
        score->among_three += three * 2 >= rows;
        score->rows += rows;
        score->rows_first += first;
        score->rows_three += three;
    } else {
        score->others++;
        score->confident += strcmp(names.name[best], "unknown") &&
                            names.confident[best] * 2 >= rows;
    }
    count_confusion(classes, names.name[best]);
    printf("%-26s %-8s %-26s %3d/%-3d %3d/%-3d", fault, dtype, *classes ? classes : "-", first,
           rows, three, rows);
    for (int i = 0; i < names.count; i++)
        printf(" %s %d (%d)", names.name[i], names.rows[i], names.confident[i]);
    printf("%s\n", index % 4 == 3 ? "  [kept]" : "");
    fflush(stdout);
}

static double percent(int part, int all) { return all ? 100.0 * part / all : 100; }

static void print_score(const char *name, const struct score *s)
{
    printf("%s: of %d faults the right class first %.1f %%, among three %.1f %%; of %d rows %.1f "
           "%%, %.1f %%; "
           "of %d faults without a hypothesis %d called something with confidence\n",
           name, s->faults, percent(s->first, s->faults), percent(s->among_three, s->faults),
           s->rows, percent(s->rows_first, s->rows), percent(s->rows_three, s->rows), s->others,
           s->confident);
}

int diagnosed_print(void)
{
    printf("\n%-32s %-26s faults\n", "is", "is called");
    for (int i = 0; i < confusions; i++)
        printf("%-32s %-26s %d%s\n", confusion[i].expected, confusion[i].called, confusion[i].count,
               is_right(confusion[i].expected, confusion[i].called) ? "" : "  <-");
    print_score("seen", &seen);
    print_score("kept", &kept);
    int faults = seen.faults + kept.faults, first = seen.first + kept.first;
    int three = seen.among_three + kept.among_three;
    int others = seen.others + kept.others, confident = seen.confident + kept.confident;
    printf("diagnosed %d/%d first, %d/%d among three, %d/%d of no kind called something\n", first,
           faults, three, faults, confident, others);
    return first * 100 < 80 * faults || three * 100 < 92 * faults || confident * 100 > 5 * others;
}
