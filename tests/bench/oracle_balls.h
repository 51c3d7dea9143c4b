/* Balls of p bits that more than one source of the oracle has: truncation, and the Bessel and Airy functions. */
#ifndef PROBE_TESTS_BENCH_ORACLE_BALLS_H
#define PROBE_TESTS_BENCH_ORACLE_BALLS_H

#include <arb.h>

void o_trunc(arb_t y, const arb_t x, slong p);

void o_i0(arb_t y, const arb_t x, slong p);
void o_i1(arb_t y, const arb_t x, slong p);
void o_i0e(arb_t y, const arb_t x, slong p);
void o_i1e(arb_t y, const arb_t x, slong p);
void o_k0(arb_t y, const arb_t x, slong p);
void o_k1(arb_t y, const arb_t x, slong p);
void o_k0e(arb_t y, const arb_t x, slong p);
void o_k1e(arb_t y, const arb_t x, slong p);
void o_j0(arb_t y, const arb_t x, slong p);
void o_j1(arb_t y, const arb_t x, slong p);
void o_y0(arb_t y, const arb_t x, slong p);
void o_y1(arb_t y, const arb_t x, slong p);
void o_airy(arb_t y, const arb_t x, slong p);
void o_airy_prime(arb_t y, const arb_t x, slong p);

#endif
