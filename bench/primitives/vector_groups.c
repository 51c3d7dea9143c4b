/* Groups of close values, and constants of backward errors. */
#include "bench/primitives/vector_groups.h"

#include <math.h>

struct status group_matrix_measure(struct group_matrix *out, const struct node *a, size_t first,
                                   size_t count, const char *what)
{
    double squares = 0, input = 0;
    for (size_t i = first; i < first + count; i++) {
        double error = node_error(a, i);
        squares += a->value[i] * a->value[i];
        input += error * error;
        if (!isfinite(a->value[i]))
            return status_error(STATUS_SKIP, "%s of a matrix that is not finite", what);
    }
    out->frobenius = sqrt(squares) * 1.01 + 0x1p-500;
    out->input = sqrt(input) * 1.01;
    return status_ok();
}

double group_distance(const struct tape *tape, enum dtype dtype, size_t n, double norm)
{
    bool wide = dtype == DT_F64 || (dtype == DT_NONE && tape->wide);
    double unit = wide ? 0x1p-53 : 0x1p-24;
    return 16 * sqrt((double)n) * unit * norm;
}

size_t group_end(const double *values, size_t n, size_t start, double distance, bool in_twos)
{
    size_t end = start + 1;
    while (end < n &&
           ((in_twos && (end - start) % 2) || fabs(values[end] - values[end - 1]) <= distance))
        end++;
    return end;
}

struct node *group_twins(struct tape *tape, int64_t n)
{
    struct node *mask = node_new_integer(tape, DT_BOOL, 3, (int64_t[]){ 1, n, n });
    for (int64_t i = 0; !tape_failed(tape) && i < n * n; i++)
        mask->integer[i] = i / n != i % n && i / n / 2 == i % n / 2;
    return mask;
}

double group_backward_error(const struct tape *tape, size_t n, double frobenius, double largest)
{
    double unit = tape->wide ? 2 * tape->unit : tape->unit;
    /* The vectors of a matrix turn together, so that the largest of their errors is larger beside the typical one than
     * that of as many independent ones: 5 where the errors of LAPACK themselves ask for 4. */
    if (tape_is_typical(tape)) return unit * (5 * frobenius / sqrt((double)n) + 2 * largest);
    return unit * 8 * (double)n * frobenius;
}

double group_forward_error(const struct tape *tape, size_t n, size_t count, double x)
{
    double turned = tape->wide ? (double)count : 1;
    double size = fabs(x) + sqrt(turned / (double)n);
    return tape->unit * size * (tape_is_typical(tape) ? 2 : 4 * (double)n);
}
