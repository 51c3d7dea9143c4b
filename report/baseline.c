/* Both files are read into one table of names; memory is a few dozen bytes a row. */
#include "report/baseline.h"

#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "results/verdict_file.h"

/* Verdicts of the rows of one name in both files; a name can have several, of which the worst
 * counts. */
struct seen {
    unsigned char old, new; /* bits 1 << verdict */
};

struct comparing {
    struct text_table names;
    struct seen *seen;
    size_t capacity;
    bool reading_old;
};

static struct status note_row(void *context, const struct verdict_row *row)
{
    struct comparing *c = context;
    uint32_t number;

    TRY(text_table_add(&number, NULL, &c->names, row->name.bytes, row->name.length));
    TRY(array_make_zeroed_room(&c->seen, &c->capacity, number, sizeof *c->seen));
    unsigned char bit = (unsigned char)(1u << row->verdict);
    if (c->reading_old) c->seen[number].old |= bit;
    else c->seen[number].new |= bit;
    return status_ok();
}

static struct status add_change(struct baseline *out, enum baseline_change change,
                                const char *folder, const char *name)
{
    size_t place = out->counts[change]++;
    if (place >= BASELINE_SHOWN) return status_ok();
    size_t bytes = (folder ? strlen(folder) + 1 : 0) + strlen(name) + 1;
    char *text = out->names[change][place] = memory_allocate(bytes);
    if (!text) return status_no_memory(bytes);
    (void)snprintf(text, bytes, "%s%s%s", folder ? folder : "", folder ? " " : "", name);
    text_tidy(text); /* it will be printed, and comes from a file */
    return status_ok();
}

/* The worst of the verdicts in a set of bits. */
static int severity(unsigned char verdicts, enum failing failing)
{
    int worst = 0;
    for (enum verdict verdict = VERDICT_BLANK; verdict <= VERDICT_SKIP; verdict++) {
        int one = verdicts & 1u << verdict ? failing_severity(failing, verdict) : 0;
        if (one > worst) worst = one;
    }
    return worst;
}

static struct status sort_rows(struct baseline *out, const char *folder, const struct comparing *c,
                               enum failing failing)
{
    const unsigned judged = 1u << VERDICT_ERROR | 1u << VERDICT_PASS | 1u << VERDICT_WARNING;

    for (uint32_t i = 0; i < c->names.count; i++) {
        int before = severity(c->seen[i].old, failing), now = severity(c->seen[i].new, failing);
        if (!before && !now) continue;
        enum baseline_change change = BASELINE_GONE;
        if (now) change = !before ? BASELINE_NEW : now > before ? BASELINE_WORSE : BASELINE_STILL;
        else if (c->seen[i].new &judged) change = BASELINE_FIXED;
        TRY(add_change(out, change, folder, text_table_get(&c->names, i, NULL)));
    }
    return status_ok();
}

struct status baseline_compare(struct baseline *all, const char *folder, const char *old_path,
                               const char *new_path, enum failing failing,
                               struct file_policy policy)
{
    struct comparing c = { 0 };

    TRY(text_table_create(&c.names));
    struct status status = verdict_file_read(new_path, FILES_TRUSTED, note_row, &c);
    c.reading_old = true;
    if (!status.code && old_path) status = verdict_file_read(old_path, policy, note_row, &c);
    if (!status.code) status = sort_rows(all, folder, &c, failing);
    text_table_release(&c.names);
    memory_release(c.seen);
    return status;
}

void baseline_print(FILE *out, const struct baseline *baseline)
{
    static const char *const words[] = { [BASELINE_NEW] = "new failures",
                                         [BASELINE_WORSE] = "failing worse than before",
                                         [BASELINE_STILL] = "still failing",
                                         [BASELINE_FIXED] = "fixed",
                                         [BASELINE_GONE] = "failed before, not judged now" };
    fprintf(out, "\nsince the baseline\n");
    for (size_t change = 0; change < BASELINE_CHANGES; change++) {
        size_t count = baseline->counts[change];
        fprintf(out, "  %-30s %zu\n", words[change], count);
        if (change == BASELINE_STILL) continue; /* known: the number is enough */
        for (size_t i = 0; i < count && i < BASELINE_SHOWN; i++)
            fprintf(out, "    %s\n", baseline->names[change][i]);
        if (count > BASELINE_SHOWN) fprintf(out, "    and %zu more\n", count - BASELINE_SHOWN);
    }
}

void baseline_release(struct baseline *baseline)
{
    for (size_t change = 0; change < BASELINE_CHANGES; change++) {
        for (size_t i = 0; i < BASELINE_SHOWN; i++) memory_release(baseline->names[change][i]);
    }
    *baseline = (struct baseline){ 0 };
}
