/* The sequence of a comparison, one step a function; both dumps are read at the same time. */
#include "compare/dumps/comparison.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/backward_numbers.h"
#include "compare/dumps/call_pairing.h"
#include "compare/dumps/dump_reader.h"
#include "compare/dumps/judge.h"
#include "core/file.h"
#include "core/memory.h"
#include "formats/stacks.h"

static const char *const kinds[] = {
    [DUMP_TENSOR] = "tensor",
    [DUMP_STATISTICS] = "statistics",
    [DUMP_MD5] = "md5",
    [DUMP_STRUCTURE] = "structure",
};

const char *dump_kind_name(enum dump_kind kind) { return kinds[kind]; }

/* ---- reading ---------------------------------------------------------------------------- */

struct reader {
    struct dump_rows *out;
    const char *path;
    struct dump_source source;
    struct file_policy file_policy;
    struct status status;
};

static void *read_dump(void *argument)
{
    struct reader *reader = argument;
    reader->status =
        reader->source.text
            ? dump_rows_read(reader->out, reader->path, reader->source.text, reader->source.bytes)
            : dump_rows_open(reader->out, reader->path, reader->file_policy);
    return NULL;
}

/* Both dumps, at the same time. */
static struct status read_dumps(struct comparison *c, const struct comparison_request *request)
{
    struct reader npu = { .out = &c->npu,
                          .path = request->npu_path,
                          .source = request->npu_text,
                          .file_policy = request->file_policy };
    struct reader bench = { .out = &c->bench,
                            .path = request->bench_path,
                            .source = request->bench_text,
                            .file_policy = request->file_policy };
    pthread_t thread;
    bool threaded = pthread_create(&thread, NULL, read_dump, &bench) == 0;

    (void)read_dump(&npu);
    if (threaded) (void)pthread_join(thread, NULL);
    else (void)read_dump(&bench);
    return npu.status.code ? npu.status : bench.status;
}

/* Whether statistics or checksums were recorded is seen in rows; a dump without any is of the other's
 * kind. */
static void settle_kinds(struct dump_rows *a, const struct dump_rows *b)
{
    bool open = a->kind == DUMP_STATISTICS || a->kind == DUMP_MD5;
    bool other = b->kind == DUMP_STATISTICS || b->kind == DUMP_MD5;
    if (!a->n_rows && open && other) a->kind = b->kind;
}

static struct status check_dumps(const struct comparison *c,
                                 const struct comparison_request *request)
{
    if (c->npu.is_debug != c->bench.is_debug)
        return status_error(STATUS_BAD_INPUT, "'%s' and '%s' are not the same kind of file",
                            file_shown(request->npu_path).text,
                            file_shown(request->bench_path).text);
    if (c->npu.kind != c->bench.kind)
        return status_error(
            STATUS_BAD_INPUT,
            "the dump of the NPU holds %s, that of Bench %s; they cannot be compared",
            dump_kind_name(c->npu.kind), dump_kind_name(c->bench.kind));
    if (c->npu.kind == DUMP_STRUCTURE && !request->pair)
        return status_error(STATUS_BAD_INPUT,
                            "dumps of task structure hold no values to compare; the command graph "
                            "shows them");
    return status_ok();
}

/* The stacks that are asked for, or those that lie beside the dump. */
static struct status read_stacks(struct comparison *c, const struct comparison_request *request)
{
    if (!request->stack_path)
        return stacks_open_beside(&c->stacks, request->npu_path, request->file_policy);
    return request->show_stacks ? stacks_open(&c->stacks, request->stack_path, request->file_policy)
                                : status_ok();
}

/* ---- comparing -------------------------------------------------------------------------- */

/* Pair as the mapping says; without one by name, in the third generation by backward order, in the
 * first, of PyTorch, by whole calls. */
static struct status pair_rows(struct comparison *c, const struct comparison_request *request)
{
    struct pairing_rule rule = { 0 };
    struct mapping_use *use = NULL;
    struct backward_numbers numbers = { 0 };
    struct status status = status_ok();

    c->dumps = (struct dump_pair){ .npu = &c->npu,
                                   .bench = &c->bench,
                                   .cross_framework = request->framework == FRAMEWORK_MINDSPORE &&
                                                      c->bench.framework == FRAMEWORK_PYTORCH };
    if (request->pair) return request->pair(&c->pairing, &c->dumps, request->pair_context);
    if (c->generation == GENERATION_1 && request->framework == FRAMEWORK_PYTORCH &&
        !request->mapping)
        return pairing_by_call(&c->pairing, &c->dumps, request->fuzzy);
    if (request->mapping)
        status = mapping_apply(&use, &rule, request->mapping, &c->dumps, request->npu_path,
                               request->bench_path, request->file_policy);
    else if (c->generation == GENERATION_3 && !request->fuzzy)
        status = backward_numbers_apply(&numbers, &rule, &c->dumps);
    if (!status.code)
        status = (request->fuzzy ? pairing_fuzzy : pairing_by_key)(&c->pairing, &c->dumps, &rule);
    if (!status.code && use) c->idle_names = mapping_use_count_idle(use, &c->idle_name);
    mapping_use_close(use);
    backward_numbers_release(&numbers);
    return status;
}

static struct status measure_rows(struct comparison *c, const struct comparison_request *request)
{
    const struct tensor_rows_request tensors = {
        .npu_path = request->npu_path,
        .bench_path = request->bench_path,
        .file_policy = request->file_policy,
        .threads = request->threads,
        .profile = request->profile,
        .fix = request->fix,
        .watch = request->watch,
    };
    c->rows = memory_allocate_zeroed((size_t)c->npu.n_rows + 1, sizeof *c->rows);
    if (!c->rows) return status_no_memory(c->npu.n_rows * sizeof *c->rows);
    return c->kind == DUMP_TENSOR ? tensor_rows_compute(c, &tensors) : status_ok();
}

static struct status compare(struct comparison *c, const struct comparison_request *request)
{
    TRY(read_dumps(c, request));
    settle_kinds(&c->npu, &c->bench);
    settle_kinds(&c->bench, &c->npu);
    TRY(check_dumps(c, request));
    c->kind = c->npu.kind;
    if (c->kind == DUMP_TENSOR && request->by_statistics) c->kind = DUMP_STATISTICS;
    TRY(read_stacks(c, request));
    TRY(pair_rows(c, request));
    TRY(measure_rows(c, request));
    judge_rows(c);
    if (c->highlighted) judge_backgrounds(c);
    if (c->generation == GENERATION_3) judge_by_rules(c);
    return status_ok();
}

struct status comparison_run(struct comparison *out, const struct comparison_request *request)
{
    *out = (struct comparison){ .generation = request->generation,
                                .highlighted = request->highlight,
                                .any_shape = request->any_shape };
    struct status status = compare(out, request);
    if (status.code) comparison_release(out);
    return status;
}

void comparison_release(struct comparison *c)
{
    tensor_rows_release(c);
    memory_release(c->rows);
    pairing_release(&c->pairing);
    stacks_close(c->stacks);
    dump_rows_close(&c->npu);
    dump_rows_close(&c->bench);
    *c = (struct comparison){ .kind = c->kind };
}
