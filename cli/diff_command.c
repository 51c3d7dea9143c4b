/* The options of diff; a file is judged as one output of one call. */
#include "cli/diff_command.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/memory.h"
#include "formats/tensor_file.h"
#include "report/ci_reports.h"
#include "report/failing.h"
#include "results/details_file.h"
#include "results/evidence.h"
#include "results/judged_json.h"
#include "results/row_print.h"
#include "runner/api_lists.h"
#include "runner/api_names.h"
#include "runner/threshold_names.h"
#include "standards/judge.h"
#include "standards/judge_places.h"
#include "standards/profile.h"

struct diff_options {
    struct operands files;
    const char *api, *profile, *thresholds, *dtype, *bench_dtype, *fail_on;
    int64_t precision;
    bool json;
    struct file_policy file_policy;
};

/* A file and its tensor. */
struct side {
    const char *path;
    struct file_map map;
    struct tensor tensor; /* dense, of the dtype that it is to have */
};

struct diff {
    const struct diff_options *options;
    struct arena arena;
    struct profile *profile;
    struct side want, got;
    struct api_case c;
    bool backward;
    size_t index;
    struct judged judged;
};

/* ---- the name --------------------------------------------------------------------------- */

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
    }
    return length > 0;
}

/* What --api gave: the name of a details row, of a call, or of an API alone. */
static struct status take_name(struct diff *d)
{
    const char *name = d->options->api ? d->options->api : "";
    size_t length = strlen(name);
    struct row_name row;

    d->c = (struct api_case){ .full_name = name, .type = "", .api = name };
    if (row_name_split(&row, (struct csv_text){ name, length })) {
        d->c.full_name = arena_copy_bytes(&d->arena, row.full_name.bytes, row.full_name.length);
        d->c.api = arena_copy_bytes(&d->arena, row.api.bytes, row.api.length);
        d->backward = row.backward;
        if (!is_number(row.index.bytes, row.index.length) || row.index.length > 9)
            return status_error(STATUS_BAD_ARGUMENT,
                                "option '--api': '%s' does not end in the number of an output",
                                name);
        d->index = strtoul(row.index.bytes, NULL, 10);
    } else {
        /* Type.api.number: at least one dot before the last one, and a number behind it. */
        const char *first = strchr(name, '.'), *last = strrchr(name, '.');
        if (last && first < last && is_number(last + 1, strlen(last + 1)))
            d->c.api = arena_copy_bytes(&d->arena, first + 1, (size_t)(last - first - 1));
    }
    return d->c.full_name && d->c.api ? status_ok() : status_no_memory(length);
}

static struct status check_name(struct diff *d)
{
    const char *nearest;
    if (!d->options->api || api_name_is_known(&nearest, &d->arena, d->c.api)) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        "option '--api': there is no API '%s', the nearest is '%s'", d->c.api,
                        nearest);
}

/* ---- the tensors ------------------------------------------------------------------------ */

static struct status parse_dtype(enum dtype *out, const char *option, const char *text)
{
    *out = text ? dtype_from_name(text) : DT_NONE;
    if (text && *out == DT_NONE)
        return status_error(STATUS_BAD_ARGUMENT, "option '%s' does not know the dtype '%s'", option,
                            text);
    return status_ok();
}

static struct status read_side(struct side *side, struct diff *d)
{
    struct tensor strided;
    TRY(tensor_file_read(&strided, &side->map, &d->arena, side->path, d->options->file_policy));
    return tensor_densify(&side->tensor, &d->arena, &strided);
}

static size_t components(const struct tensor *tensor)
{
    return tensor_elements(tensor) * (dtype_is_complex(tensor->dtype) ? 2 : 1);
}

/* The tensor in another dtype of its kind: bfloat16 values, say, that a float32 file holds. A
 * value that changes on the way shows that the file holds something else; *changed counts them. */
static struct status convert(struct tensor *tensor, struct arena *arena, enum dtype dtype,
                             size_t *changed)
{
    struct tensor out;
    size_t n = components(tensor);
    bool integral = dtype_is_integral(tensor->dtype);

    *changed = 0;
    if (dtype == DT_NONE || dtype == tensor->dtype) return status_ok();
    if (integral != dtype_is_integral(dtype) ||
        dtype_is_complex(tensor->dtype) != dtype_is_complex(dtype))
        return status_error(STATUS_BAD_ARGUMENT, "option '--dtype': a file of %s cannot hold %s",
                            dtype_info(tensor->dtype)->name, dtype_info(dtype)->name);
    TRY(tensor_create(&out, arena, dtype, tensor->rank, tensor->shape));
    void *before = arena_allocate_array(arena, n, sizeof(double));
    void *after = arena_allocate_array(arena, n, sizeof(double));
    if (!before || !after) return status_no_memory(n * sizeof(double));
    size_t elements = tensor_elements(tensor);
    if (integral) {
        dtype_to_int64(before, tensor->data, tensor->dtype, elements);
        dtype_from_int64(out.data, dtype, before, elements);
        dtype_to_int64(after, out.data, dtype, elements);
    } else {
        dtype_to_double(before, tensor->data, tensor->dtype, elements);
        dtype_from_double(out.data, dtype, before, elements);
        dtype_to_double(after, out.data, dtype, elements);
    }
    for (size_t i = 0; i < n; i++) {
        bool same = integral ? ((int64_t *)before)[i] == ((int64_t *)after)[i]
                             : ((double *)before)[i] == ((double *)after)[i] ||
                                   isnan(((double *)before)[i]);
        if (!same) ++*changed;
    }
    *tensor = out;
    return status_ok();
}

/* The file's values as a reference without error. Where both sides are floating (or complex) it
 * is a reference for what the device returned, whatever the file's own precision. */
static struct status make_reference(struct reference *out, struct arena *arena,
                                    const struct tensor *want, const struct tensor *got)
{
    bool same_kind = dtype_info(want->dtype)->kind == dtype_info(got->dtype)->kind;
    bool integral = dtype_is_integral(want->dtype);
    size_t n = components(want);

    *out = (struct reference){ .dtype = same_kind && !integral ? got->dtype : want->dtype,
                               .rank = want->rank,
                               .n = n,
                               .state = REFERENCE_EXACT };
    memcpy(out->shape, want->shape, sizeof out->shape);
    void *values = arena_allocate_array(arena, n, sizeof(double));
    if (!values) return status_no_memory(n * sizeof(double));
    if (integral) {
        out->integer = values;
        dtype_to_int64(out->integer, want->data, want->dtype, tensor_elements(want));
    } else {
        out->hi = values;
        dtype_to_double(out->hi, want->data, want->dtype, tensor_elements(want));
    }
    return status_ok();
}

/* ---- judging ---------------------------------------------------------------------------- */

static struct status judge(struct diff *d)
{
    const struct diff_options *options = d->options;
    enum dtype dtype, bench;
    size_t changed;
    struct reference reference;

    TRY(parse_dtype(&dtype, "--dtype", options->dtype));
    TRY(parse_dtype(&bench, "--bench-dtype", options->bench_dtype));
    TRY(take_name(d));
    TRY(check_name(d));
    TRY(threshold_names_check(options->thresholds, options->file_policy));
    TRY(profile_load(&d->profile, options->profile, options->thresholds, options->file_policy));
    TRY(read_side(&d->want, d));
    TRY(read_side(&d->got, d));
    TRY(convert(&d->got.tensor, &d->arena, dtype, &changed));
    if (changed)
        fprintf(stderr, "warning: %zu values of %s are no %s and were rounded\n", changed,
                d->got.path, dtype_info(dtype)->name);
    TRY(make_reference(&reference, &d->arena, &d->want.tensor, &d->got.tensor));

    struct judge_request request = {
        .profile = d->profile,
        .c = &d->c,
        .backward = d->backward,
        .index = d->index,
        .bench_dtype = bench == DT_NONE ? d->want.tensor.dtype : bench,
        .input_dtype = d->got.tensor.dtype,
        .precision = (int)options->precision,
    };
    struct wanted want = { .reference = &reference };
    struct value got = { .kind = VALUE_TENSOR, .tensor = { .tensor = &d->got.tensor } };
    TRY(judge_output(&d->judged, &d->arena, &request, &want, &got));
    return judge_places(&d->judged, &d->arena, &reference, &d->got.tensor);
}

/* ---- what the user sees ----------------------------------------------------------------- */

static struct status print_json(const struct diff *d)
{
    struct csv_buffer text = { 0 };
    struct json_writer object = JSON_WRITER(&text);
    json_put_begin(&object, '{');
    judged_json_add_cells(&object, &d->judged);
    judged_json_add_evidence(&object, &d->judged);
    json_put_end(&object, '}');
    if (!object.status.code) printf("%.*s\n", (int)text.length, text.data);
    csv_buffer_release(&text);
    return object.status;
}

/* As `case` prints a row. */
static struct status print_text(const struct diff *d)
{
    struct csv_buffer details = { 0 }, evidence = { 0 };
    struct judged judged = d->judged;
    const struct evidence_row row = { .judged = &judged };
    if (!d->options->api) judged.cells[COLUMN_NAME] = d->got.path;
    struct status status = csv_append_row(&details, judged.cells, COLUMN_COUNT);
    if (!status.code) status = evidence_append(&evidence, &row);
    if (!status.code) status = rows_print(stdout, &evidence, &details);
    csv_buffer_release(&details);
    csv_buffer_release(&evidence);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

/* A comparison that came to no verdict is neither a success nor a failure. */
static int exit_status_of(const struct judged *judged, const char *fail_on)
{
    if (judged->verdict == VERDICT_SKIP || judged->verdict == VERDICT_BLANK) return EXIT_NO_VERDICT;
    bool fails = fail_on && failing_severity(failing_from_name(fail_on), judged->verdict);
    return fails ? EXIT_FAILURES : 0;
}

static struct status run(int *exit_status, const void *values)
{
    const struct diff_options *options = values;
    struct diff d = { .options = options,
                      .want = { .path = options->files.items[0] },
                      .got = { .path = options->files.items[1] } };

    struct status status = judge(&d);
    if (!status.code && options->json) status = print_json(&d);
    else if (!status.code) status = print_text(&d);
    if (!status.code) *exit_status = exit_status_of(&d.judged, options->fail_on);
    file_unmap(&d.want.map);
    file_unmap(&d.got.map);
    profile_release(d.profile);
    arena_release(&d.arena);
    return status;
}

#define AT(member) .offset = offsetof(struct diff_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "api" }, OPTION_TEXT, AT(api), "NAME",
      .help = "Whose output the files hold, which decides the standard and its limits: an API "
              "(matmul, linalg.inv), a call (Torch.matmul.3) or a row of a details file "
              "(Torch.matmul.3.backward.output.0)." },
    { { "profile" }, OPTION_CHOICE, AT(profile), "NAME", .choices = profile_names,
      .help = "The rules of the verdict; doc by default." },
    { { "thresholds" }, OPTION_FILE, AT(thresholds), "FILE",
      .help = "A JSON file with limits of your own per API and dtype, over those of the "
              "profile." },
    { { "dtype" }, OPTION_TEXT, AT(dtype), "DTYPE",
      .help = "What GOT holds, where its file cannot say: torch.bfloat16 in a float32 file." },
    { { "bench_dtype" }, OPTION_TEXT, AT(bench_dtype), "DTYPE",
      .help = "The dtype the reference counts as; that of the file WANT by default. It sets the "
              "machine epsilon of relative errors and the format of numbers." },
    { { "precision" }, OPTION_INTEGER, AT(precision), "N", .minimum = 0, .maximum = MAX_PRECISION,
      .help = "Decimals of printed numbers, 14 by default." },
    { { "json" }, OPTION_FLAG, AT(json),
      .help = "Print one JSON object: the columns of a details file with the texts of their "
              "cells, and the evidence." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 for this verdict or a worse one." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct diff_options defaults = { .profile = "doc", .precision = DEFAULT_PRECISION };

const struct command diff_command = {
    .word = "diff",
    .summary = "judge one tensor file by another",
    .text = "Reads two tensors, a reference WANT and a device's result GOT (.npy or .pt), and "
            "judges them as an output of a run: the columns of a details file, the verdict, the "
            "limits behind it, the worst elements, a histogram of the error in ulp.",
    .options = rows,
    .operands = "WANT GOT",
    .operands_minimum = 2,
    .operands_maximum = 2,
    .operands_offset = offsetof(struct diff_options, files),
    .bytes = sizeof(struct diff_options),
    .defaults = &defaults,
    .run = run,
};
