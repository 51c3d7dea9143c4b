/* Norms of lines are taken in parts that other threads may have; input tensors stay in their dtype. */
#include "bench/primitives/product_operand.h"

#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/panels.h"
#include "core/parallel.h"

/* Elements from `at` on as they are stored: converted, or of an input tensor. */
static struct factor factor_of(const struct node *x, size_t at, size_t lines, size_t length,
                               bool down)
{
    struct factor f = { x->value, DT_F64, lines, down ? 1 : length, down ? lines : 1 };
    if (!x->value) {
        f.x = x->source->data;
        f.dtype = x->source->dtype;
    }
    f.x = (const char *)f.x + at * dtype_info(f.dtype)->bytes;
    return f;
}

struct factor operand_matrix(const struct product_operand *x, size_t product)
{
    size_t matrix = x->matrices == 1 ? 0 : product;
    return factor_of(x->node, matrix * x->lines * x->length, x->lines, x->length, x->down);
}

struct factor operand_lines(const struct product_operand *x, size_t product, size_t first,
                            size_t count)
{
    struct factor all = operand_matrix(x, product);
    return factor_lines(&all, first, count);
}

const double *operand_norms(const struct product_operand *x, const double *norms, size_t product)
{
    return norms + (x->matrices == 1 ? 0 : product * x->lines);
}

enum { NORM_LINES = 512 };

/* Lines of one matrix in parts: part `number` of `matrices` times lines_parts. */
static size_t lines_parts(const struct product_operand *x)
{
    return (x->lines - 1) / NORM_LINES + 1;
}

static struct status norms_part(void *context, size_t number, void *scratch)
{
    const struct product_operand *x = context;
    size_t parts = lines_parts(x), matrix = number / parts, first = number % parts * NORM_LINES;
    size_t count = x->lines - first < NORM_LINES ? x->lines - first : NORM_LINES;
    struct factor all = operand_matrix(x, matrix), some = factor_lines(&all, first, count);
    (void)scratch;
    factor_norms(x->norms + matrix * x->lines + first, &some, x->length);
    return status_ok();
}

/* Norms of the bounds of a matrix, as line_norms; `scratch` has room for it. */
static void take_error_norms(const struct product_operand *x, double *scratch)
{
    size_t size = x->lines * x->length;
    for (size_t matrix = 0; x->error_norms && matrix < x->matrices; matrix++) {
        for (size_t i = 0; i < size; i++) scratch[i] = node_error(x->node, matrix * size + i);
        line_norms(x->error_norms + matrix * x->lines, scratch, x->lines, x->length, x->down);
    }
}

void operand_take_norms(struct tape *tape, struct product_operand *x, bool known)
{
    if (!x->exact)
        x->error_norms = tape_allocate(tape, x->matrices * x->lines, sizeof *x->error_norms);
    struct arena_mark before = arena_mark(tape->arena);
    double *scratch = x->exact ? NULL : tape_allocate(tape, x->lines * x->length, sizeof *scratch);
    if (tape_failed(tape)) return;
    take_error_norms(x, scratch);
    arena_rewind(tape->arena, before);
    if (known) return;
    tape_parallel(tape, &(struct parallel){ .parts = x->matrices * lines_parts(x),
                                            .part = norms_part,
                                            .context = x });
}
