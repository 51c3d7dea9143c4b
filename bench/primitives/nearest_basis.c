/* The bound is a posteriori. Let z be what was computed, H the symmetric part of z^T Y, its least eigenvalue at least
 * s > 0, h = ||z^T z - I||. Then
 *
 *   ||P Y - z H|| <= ||x (x^T Y) - z H|| + ||P - x x^T|| ||Y||,   ||P - x x^T|| <= 1.5 turn + 2 ||x^T x - I||
 *
 * (sqrt(2) sin(angle) between subspaces of one dimension, and x made orthonormal). The polar factor of z' H, z' that of z, is
 * z', and ||z - z'|| <= h. Polar factors of matrices of full column rank differ by at most (2 / (s1 + s2) + 1 / max(s1,
 * s2)) <= 3 / s times what the matrices differ by (Li, SIAM J. Matrix Anal. 16, 1995). All norms are Frobenius's. */
#include "bench/primitives/nearest_basis.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/lapack.h"
#include "bench/arithmetic/rounding.h"

static double norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum) * (1 + gamma_of((double)n + 2)) + 0x1p-500;
}

double basis_defect(const double *x, size_t k, size_t n, double *scratch)
{
    double size = norm(x, k * n);
    if (!k) return 0;
    gemm_double(scratch, &(struct gemm){ .transpose_b = true, .m = k, .n = k, .k = n }, x, x);
    for (size_t i = 0; i < k; i++) scratch[i * k + i] -= 1;
    return norm(scratch, k * k) + gamma_of((double)n + 2) * size * size;
}

/* The polar factor of c (k, wanted), row-major; false when a singular value is 1/2 or less. */
static struct status polar_factor(bool *near, double *omega, const double *c, size_t k,
                                  size_t wanted, struct arena *arena)
{
    double *values = arena_allocate_array(arena, wanted, sizeof *values);
    double *left = arena_allocate_array(arena, wanted * k, sizeof *left);
    double *right = arena_allocate_array(arena, wanted * wanted, sizeof *right);
    *near = false;
    if (!values || !left || !right) return status_no_memory(wanted * k * sizeof *left);
    for (size_t i = 0; i < k * wanted; i++)
        if (!(fabs(c[i]) < 2)) return status_ok();
    TRY(lapack_singular_vectors(values, left, right, c, k, wanted, false, arena));
    *near = values[wanted - 1] > 0.5;
    gemm_double(omega, &(struct gemm){ .transpose_a = true, .m = k, .n = wanted, .k = wanted },
                left, right);
    return status_ok();
}

/* The derivation above; `y` may be x itself. */
static double error_bound(const struct basis_aim *aim, const double *z, const double *y,
                          double *scratch)
{
    size_t k = aim->k, w = aim->wanted, n = aim->n;
    double *c = scratch, *h = c + k * w, *difference = h + w * w, *square = difference + w * n;
    double size_y = norm(y, w * n), size_x = norm(aim->x, k * n), size_z = norm(z, w * n);
    double defect = basis_defect(z, w, n, square);
    double projector = 1.5 * aim->turn + 2 * basis_defect(aim->x, k, n, square);
    gemm_double(c, &(struct gemm){ .transpose_b = true, .m = w, .n = k, .k = n }, y, aim->x);
    gemm_double(difference, &(struct gemm){ .m = w, .n = n, .k = k }, c, aim->x);
    gemm_double(square, &(struct gemm){ .transpose_b = true, .m = w, .n = w, .k = n }, z, y);
    double off = 0;
    for (size_t i = 0; i < w; i++)
        for (size_t j = 0; j < w; j++) {
            double symmetric = (square[i * w + j] + square[j * w + i]) / 2;
            double from_one = symmetric - (i == j);
            h[i * w + j] = -symmetric;
            off += from_one * from_one;
        }
    double rounding = gamma_of((double)(2 * (n + k) + 8)) *
                      (size_x * size_x * size_y + size_z * size_z * size_y);
    double least = 1 - sqrt(off) * 1.01 - rounding, size_h = norm(h, w * w) + rounding;
    gemm_double(difference, &(struct gemm){ .add = true, .m = w, .n = n, .k = w }, h, z);
    double apart = norm(difference, w * n) + rounding + projector * size_y + defect * size_h;
    bool proven = least > 0.25 && projector < 0.25;
    return proven ? 1.01 * (defect + 3 * apart / least) : INFINITY;
}

/* Vector j of rows of length n that are embedded complex ones: v, and iv behind it. */
static void put_embedded(double *rows, size_t j, const double *v, size_t n)
{
    double *own = rows + 2 * j * n;
    for (size_t i = 0; i < n; i += 2) {
        own[i] = own[n + i + 1] = v[i];
        own[i + 1] = v[i + 1];
        own[n + i] = -v[i + 1];
    }
}

/* Of the span of x (k, n), an embedded one, `wanted` vectors of an embedded basis: Gram and Schmidt's, of rows of x as complex
 * vectors, the longest rest first. `rest` (k, n) is room. */
static void embedded_basis(double *y, double *rest, const struct basis_aim *aim)
{
    size_t k = aim->k, n = aim->n;
    memcpy(rest, aim->x, k * n * sizeof *rest);
    for (size_t j = 0; j < aim->wanted / 2; j++) {
        size_t best = 0;
        for (size_t i = 1; i < k; i++)
            if (norm(rest + i * n, n) > norm(rest + best * n, n)) best = i;
        double *v = rest + best * n, length = norm(v, n);
        for (size_t i = 0; i < n; i++) v[i] /= length;
        put_embedded(y, j, v, n);
        for (size_t row = 0; row < 2 * k; row++) { /* twice is enough (Kahan; Parlett) */
            double *other = rest + row % k * n;
            for (const double *own = y + 2 * j * n; own < y + (2 * j + 2) * n; own += n) {
                double along = 0;
                for (size_t i = 0; i < n; i++) along += own[i] * other[i];
                for (size_t i = 0; i < n; i++) other[i] -= along * own[i];
            }
        }
    }
}

/* The nearest basis to y, rows z, unless y is near none. Scratch: two of k w. */
static struct status aim_at(double *z, bool *near, const struct basis_aim *aim, const double *y,
                            double *scratch, struct arena *arena)
{
    size_t k = aim->k, w = aim->wanted, n = aim->n;
    double *c = scratch, *omega = c + k * w;
    gemm_double(c, &(struct gemm){ .transpose_b = true, .m = k, .n = w, .k = n }, aim->x, y);
    TRY(polar_factor(near, omega, c, k, w, arena));
    if (*near)
        gemm_double(z, &(struct gemm){ .transpose_a = true, .m = w, .n = n, .k = k }, omega,
                    aim->x);
    return status_ok();
}

struct status nearest_basis(double *z, double *error, bool *near, const struct basis_aim *aim,
                            struct arena *arena)
{
    size_t k = aim->k, w = aim->wanted, n = aim->n;
    *near = false;
    *error = 0;
    if (!w || !n) return status_ok();
    size_t largest = k > w ? k : w;
    const double *y = aim->y;
    double *factors = arena_allocate_array(arena, 2 * k * w, sizeof *factors);
    double *scratch =
        arena_allocate_array(arena, k * w + w * w + w * n + largest * largest, sizeof *scratch);
    if (!factors || !scratch) return status_no_memory(w * n * sizeof *scratch);
    if (y) TRY(aim_at(z, near, aim, y, factors, arena));
    if (!*near && aim->embedded) {
        double *own = arena_allocate_array(arena, (k + w) * n, sizeof *own);
        bool found;
        if (!own) return status_no_memory((k + w) * n * sizeof *own);
        embedded_basis(own, own + w * n, aim);
        TRY(aim_at(z, &found, aim, own, factors, arena));
        y = found ? own : z;
    } else if (!*near) {
        memcpy(z, aim->x, w * n * sizeof *z);
        y = z;
    }
    *error = error_bound(aim, z, y, scratch);
    return status_ok();
}
