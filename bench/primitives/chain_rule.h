/* What derivatives are composed of.
 *
 * The vjp of a primitive is a composition of primitives again, its own among them, so that
 * gradients carry bounds and can be refined as values can. That makes the one circle of calls in the
 * program: multiplication's derivative multiplies, and the cotangents of a broadcast operand are
 * summed by a primitive whose own derivative broadcasts. Primitives include this header for their
 * derivatives, and the headers of single subjects for their values, which call each other in one
 * direction only.
 */
#ifndef PROBE_BENCH_PRIMITIVES_CHAIN_RULE_H
#define PROBE_BENCH_PRIMITIVES_CHAIN_RULE_H

#include "bench/primitives/binary.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"

#endif
