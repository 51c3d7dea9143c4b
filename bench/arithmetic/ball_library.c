/* The functions of Arb and FLINT that the program calls, each handed on to the library. One that is missing here is
 * undefined when the program is linked: add its row. */
#include "bench/arithmetic/ball_library.h"

#include <acb_calc.h>
#include <acb_hypgeom.h>
#include <acb_mat.h>
#include <arb_hypgeom.h>
#include <arb_mat.h>
#include <flint/fmpq.h>
#include <mpfr.h>
#include <stdbool.h>

#include "bench/arithmetic/number_memory.h"

#ifdef PROBE_BALL_LIBRARY /* cmake/dependencies.cmake: loaded late, under this name */

#include <dlfcn.h>

#include "core/late_library.h"

static void give_memory(void *handle)
{
    void *gmp = dlsym(handle, "__gmp_set_memory_functions");
    void *flint = dlsym(handle, "__flint_set_memory_functions");
    set_gmp_memory *set_gmp;
    set_flint_memory *set_flint;
    memcpy((void *)&set_gmp, (void *)&gmp, sizeof set_gmp); /* as POSIX has it for functions */
    memcpy((void *)&set_flint, (void *)&flint, sizeof set_flint);
    if (gmp && flint) number_memory_prepare(set_gmp, set_flint);
}

static struct late_library balls = LATE_LIBRARY(PROBE_BALL_LIBRARY, .prepare = give_memory);

void ball_library_prepare(void) {}

static bool is_loaded(void) { return late_library_is_loaded(&balls); }

const char *ball_library_version(void) { return late_library_symbol(&balls, "flint_version"); }

#define LATE(...) LATE_FUNCTION(balls, __VA_ARGS__)

/* clang-format off */
LATE(void, _acb_vec_clear, (acb_ptr v, slong n), (v, n))
LATE(acb_ptr, _acb_vec_init, (slong n), (n))
LATE(void, _arb_vec_clear, (arb_ptr v, slong n), (v, n))
LATE(arb_ptr, _arb_vec_init, (slong n), (n))
LATE(void, _arf_demote, (arf_t x), (x))
LATE(void, _arf_promote, (arf_t x, mp_size_t n), (x, n))
LATE(void, _fmpz_clear_mpz, (fmpz f), (f))
LATE(int, acb_calc_integrate, (acb_t res, acb_calc_func_t func, void *param, const acb_t a, const acb_t b, slong rel_goal, const mag_t abs_tol, const acb_calc_integrate_opt_t options, slong prec), (res, func, param, a, b, rel_goal, abs_tol, options, prec))
LATE(void, acb_clear, (acb_t x), (x))
LATE(void, acb_div, (acb_t z, const acb_t x, const acb_t y, slong prec), (z, x, y, prec))
LATE(void, acb_exp, (acb_t y, const acb_t x, slong prec), (y, x, prec))
LATE(void, acb_get_mag, (mag_t u, const acb_t x), (u, x))
LATE(void, acb_hurwitz_zeta, (acb_t res, const acb_t s, const acb_t z, slong prec), (res, s, z, prec))
LATE(void, acb_hypgeom_bessel_k_0f1, (acb_t res, const acb_t nu, const acb_t z, int scaled, slong prec), (res, nu, z, scaled, prec))
LATE(void, acb_hypgeom_bessel_k_asymp, (acb_t res, const acb_t nu, const acb_t z, int scaled, slong prec), (res, nu, z, scaled, prec))
LATE(void, acb_log_analytic, (acb_t res, const acb_t z, int analytic, slong prec), (res, z, analytic, prec))
LATE(void, acb_mat_clear, (acb_mat_t mat), (mat))
LATE(void, acb_mat_det, (acb_t det, const acb_mat_t A, slong prec), (det, A, prec))
LATE(void, acb_mat_eig_enclosure_rump, (acb_t lambda, acb_mat_t J, acb_mat_t X, const acb_mat_t A, const acb_t lambda_approx, const acb_mat_t X_approx, slong prec), (lambda, J, X, A, lambda_approx, X_approx, prec))
LATE(void, acb_mat_init, (acb_mat_t mat, slong r, slong c), (mat, r, c))
LATE(void, acb_mat_set_arb_mat, (acb_mat_t dest, const arb_mat_t src), (dest, src))
LATE(void, acb_mul, (acb_t z, const acb_t x, const acb_t y, slong prec), (z, x, y, prec))
LATE(void, acb_polygamma, (acb_t res, const acb_t s, const acb_t z, slong prec), (res, s, z, prec))
LATE(slong, acb_rel_error_bits, (const acb_t x), (x))
LATE(void, acb_submul, (acb_t z, const acb_t x, const acb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_abs, (arb_t y, const arb_t x), (y, x))
LATE(void, arb_acos, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_acosh, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_add, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_add_error, (arb_t x, const arb_t error), (x, error))
LATE(void, arb_add_si, (arb_t z, const arb_t x, slong y, slong prec), (z, x, y, prec))
LATE(void, arb_add_ui, (arb_t z, const arb_t x, ulong y, slong prec), (z, x, y, prec))
LATE(void, arb_addmul, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_asin, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_asinh, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_atan, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_atan2, (arb_t z, const arb_t b, const arb_t a, slong prec), (z, b, a, prec))
LATE(void, arb_atanh, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_ceil, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_clear, (arb_t x), (x))
LATE(void, arb_const_log2, (arb_t z, slong prec), (z, prec))
LATE(void, arb_const_pi, (arb_t z, slong prec), (z, prec))
LATE(void, arb_const_sqrt_pi, (arb_t z, slong prec), (z, prec))
LATE(int, arb_contains_zero, (const arb_t x), (x))
LATE(void, arb_cos, (arb_t c, const arb_t x, slong prec), (c, x, prec))
LATE(void, arb_cos_pi, (arb_t c, const arb_t x, slong prec), (c, x, prec))
LATE(void, arb_cos_pi_fmpq, (arb_t c, const fmpq_t x, slong prec), (c, x, prec))
LATE(void, arb_cosh, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_digamma, (arb_t y, const arb_t x, slong prec), (y, x, prec))
LATE(void, arb_div, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_div_si, (arb_t z, const arb_t x, slong y, slong prec), (z, x, y, prec))
LATE(void, arb_div_ui, (arb_t z, const arb_t x, ulong y, slong prec), (z, x, y, prec))
LATE(void, arb_exp, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_expm1, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_floor, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_get_lbound_arf, (arf_t u, const arb_t x, slong prec), (u, x, prec))
LATE(void, arb_get_ubound_arf, (arf_t u, const arb_t x, slong prec), (u, x, prec))
LATE(void, arb_hypgeom_airy, (arb_t ai, arb_t aip, arb_t bi, arb_t bip, const arb_t z, slong prec), (ai, aip, bi, bip, z, prec))
LATE(void, arb_hypgeom_bessel_i, (arb_t res, const arb_t nu, const arb_t z, slong prec), (res, nu, z, prec))
LATE(void, arb_hypgeom_bessel_i_scaled, (arb_t res, const arb_t nu, const arb_t z, slong prec), (res, nu, z, prec))
LATE(void, arb_hypgeom_bessel_j, (arb_t res, const arb_t nu, const arb_t z, slong prec), (res, nu, z, prec))
LATE(void, arb_hypgeom_bessel_y, (arb_t res, const arb_t nu, const arb_t z, slong prec), (res, nu, z, prec))
LATE(void, arb_hypgeom_erf, (arb_t res, const arb_t z, slong prec), (res, z, prec))
LATE(void, arb_hypgeom_erfc, (arb_t res, const arb_t z, slong prec), (res, z, prec))
LATE(void, arb_hypgeom_erfcinv, (arb_t res, const arb_t x, slong prec), (res, x, prec))
LATE(void, arb_hypgeom_erfinv, (arb_t res, const arb_t x, slong prec), (res, x, prec))
LATE(void, arb_hypgeom_gamma_lower, (arb_t res, const arb_t s, const arb_t z, int regularized, slong prec), (res, s, z, regularized, prec))
LATE(void, arb_hypgeom_gamma_upper, (arb_t res, const arb_t s, const arb_t z, int regularized, slong prec), (res, s, z, regularized, prec))
LATE(void, arb_hypgeom_u, (arb_t res, const arb_t a, const arb_t b, const arb_t z, slong prec), (res, a, b, z, prec))
LATE(void, arb_hypot, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_indeterminate, (arb_t x), (x))
LATE(int, arb_is_finite, (const arb_t x), (x))
LATE(int, arb_is_negative, (const arb_t x), (x))
LATE(int, arb_is_nonnegative, (const arb_t x), (x))
LATE(int, arb_is_nonpositive, (const arb_t x), (x))
LATE(int, arb_is_nonzero, (const arb_t x), (x))
LATE(int, arb_is_positive, (const arb_t x), (x))
LATE(void, arb_lgamma, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_log, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_log1p, (arb_t r, const arb_t z, slong prec), (r, z, prec))
LATE(void, arb_log_base_ui, (arb_t res, const arb_t x, ulong b, slong prec), (res, x, b, prec))
LATE(int, arb_mat_cho, (arb_mat_t L, const arb_mat_t A, slong prec), (L, A, prec))
LATE(void, arb_mat_clear, (arb_mat_t mat), (mat))
LATE(void, arb_mat_det, (arb_t det, const arb_mat_t A, slong prec), (det, A, prec))
LATE(void, arb_mat_exp, (arb_mat_t B, const arb_mat_t A, slong prec), (B, A, prec))
LATE(void, arb_mat_init, (arb_mat_t mat, slong r, slong c), (mat, r, c))
LATE(int, arb_mat_inv, (arb_mat_t X, const arb_mat_t A, slong prec), (X, A, prec))
LATE(void, arb_mat_mul, (arb_mat_t res, const arb_mat_t mat1, const arb_mat_t mat2, slong prec), (res, mat1, mat2, prec))
LATE(void, arb_mat_transpose, (arb_mat_t mat1, const arb_mat_t mat2), (mat1, mat2))
LATE(void, arb_mul, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_mul_2exp_si, (arb_t y, const arb_t x, slong e), (y, x, e))
LATE(void, arb_mul_si, (arb_t z, const arb_t x, slong y, slong prec), (z, x, y, prec))
LATE(void, arb_mul_ui, (arb_t z, const arb_t x, ulong y, slong prec), (z, x, y, prec))
LATE(void, arb_neg, (arb_t y, const arb_t x), (y, x))
LATE(void, arb_nonnegative_part, (arb_t res, const arb_t x), (res, x))
LATE(void, arb_one, (arb_t f), (f))
LATE(void, arb_pow, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_pow_ui, (arb_t y, const arb_t b, ulong e, slong prec), (y, b, e, prec))
LATE(slong, arb_rel_error_bits, (const arb_t x), (x))
LATE(void, arb_rsqrt, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_set, (arb_t x, const arb_t y), (x, y))
LATE(void, arb_set_d, (arb_t x, double y), (x, y))
LATE(void, arb_set_round, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_set_si, (arb_t x, slong y), (x, y))
LATE(void, arb_set_ui, (arb_t x, ulong y), (x, y))
LATE(void, arb_sgn, (arb_t res, const arb_t x), (res, x))
LATE(void, arb_sin, (arb_t s, const arb_t x, slong prec), (s, x, prec))
LATE(void, arb_sin_pi, (arb_t s, const arb_t x, slong prec), (s, x, prec))
LATE(void, arb_sinc_pi, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_sinh, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_sqrt, (arb_t z, const arb_t x, slong prec), (z, x, prec))
LATE(void, arb_sqrt_ui, (arb_t z, ulong x, slong prec), (z, x, prec))
LATE(void, arb_sub, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_sub_si, (arb_t z, const arb_t x, slong y, slong prec), (z, x, y, prec))
LATE(void, arb_sub_ui, (arb_t z, const arb_t x, ulong y, slong prec), (z, x, y, prec))
LATE(void, arb_submul, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_tan, (arb_t y, const arb_t x, slong prec), (y, x, prec))
LATE(void, arb_tanh, (arb_t y, const arb_t x, slong prec), (y, x, prec))
LATE(void, arb_ui_div, (arb_t z, ulong x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_union, (arb_t z, const arb_t x, const arb_t y, slong prec), (z, x, y, prec))
LATE(void, arb_zero, (arb_t x), (x))
LATE(slong, arf_abs_bound_lt_2exp_si, (const arf_t x), (x))
LATE(void, arf_clear, (arf_t x), (x))
LATE(int, arf_cmp, (const arf_t x, const arf_t y), (x, y))
LATE(int, arf_cmp_si, (const arf_t x, slong y), (x, y))
LATE(int, arf_cmpabs_2exp_si, (const arf_t x, slong e), (x, e))
LATE(int, arf_cmpabs_ui, (const arf_t x, ulong y), (x, y))
LATE(double, arf_get_d, (const arf_t x, int rnd), (x, rnd))
LATE(void, arf_get_mag, (mag_t y, const arf_t x), (y, x))
LATE(slong, arf_get_si, (const arf_t x, int rnd), (x, rnd))
LATE(int, arf_is_int, (const arf_t x), (x))
LATE(void, arf_set_d, (arf_t x, double v), (x, v))
LATE(int, arf_sub, (arf_ptr z, arf_srcptr x, arf_srcptr y, slong prec, int rnd), (z, x, y, prec, rnd))
LATE(void, flint_cleanup, (void), ())
LATE(void *, flint_realloc, (void *ptr, size_t size), (ptr, size))
LATE(void, fmpq_set_si, (fmpq_t res, slong p, ulong q), (res, p, q))
LATE(void, fmpz_set, (fmpz_t f, const fmpz_t g), (f, g))
LATE(void, mag_add, (mag_t z, const mag_t x, const mag_t y), (z, x, y))
LATE(void, mag_clear, (mag_t x), (x))
LATE(int, mag_cmp_2exp_si, (const mag_t x, slong y), (x, y))
LATE(double, mag_get_d, (const mag_t z), (z))
LATE(double, mag_get_d_log2_approx, (const mag_t x), (x))
LATE(void, mag_mul_2exp_si, (mag_t z, const mag_t x, slong y), (z, x, y))
LATE(void, mag_pow_ui, (mag_t z, const mag_t x, ulong e), (z, x, e))
LATE(void, mag_set_d, (mag_t z, double x), (z, x))
LATE(void, mag_set_ui_2exp_si, (mag_t z, ulong x, slong y), (z, x, y))
LATE(void, mpfr_free_cache, (void), ())
LATE(const char *, mpfr_get_version, (void), ())
/* clang-format on */

#else

void ball_library_prepare(void)
{
    number_memory_prepare(mp_set_memory_functions, __flint_set_memory_functions);
}

static bool is_loaded(void) { return true; }

const char *ball_library_version(void) { return flint_version; }

#endif

void ball_library_leave_thread(void)
{
    if (!is_loaded()) return;
    flint_cleanup();
    mpfr_free_cache();
}
