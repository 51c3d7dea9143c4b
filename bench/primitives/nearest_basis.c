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

struct status nearest_basis(double *z, double *error, bool *near, const struct basis_aim *aim,
                            struct arena *arena)
{
    size_t k = aim->k, w = aim->wanted, n = aim->n;
    *near = false;
    *error = 0;
    if (!w || !n) return status_ok();
    size_t largest = k > w ? k : w;
    double *c = arena_allocate_array(arena, k * w, sizeof *c);
    double *omega = arena_allocate_array(arena, k * w, sizeof *omega);
    double *scratch =
        arena_allocate_array(arena, k * w + w * w + w * n + largest * largest, sizeof *scratch);
    if (!c || !omega || !scratch) return status_no_memory(w * n * sizeof *scratch);
    gemm_double(c, &(struct gemm){ .transpose_b = true, .m = k, .n = w, .k = n }, aim->x, aim->y);
    TRY(polar_factor(near, omega, c, k, w, arena));
    if (*near)
        gemm_double(z, &(struct gemm){ .transpose_a = true, .m = w, .n = n, .k = k }, omega,
                    aim->x);
    else memcpy(z, aim->x, w * n * sizeof *z);
    *error = error_bound(aim, z, *near ? aim->y : z, scratch);
    return status_ok();
}
