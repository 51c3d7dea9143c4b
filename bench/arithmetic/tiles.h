/* How batches of matrix products are divided into parts for several threads (core/parallel.h): by their sizes alone.
 *
 * A tile is large enough for dgemm to run at nine tenths of its speed and better, panel by panel, and small enough that a
 * product of some GFLOP has a dozen of them and its panels stay in the second-level cache. Products smaller than a tile
 * are done a few at a time.
 */
#ifndef PROBE_BENCH_ARITHMETIC_TILES_H
#define PROBE_BENCH_ARITHMETIC_TILES_H

#include <stddef.h>

struct tiles {
    size_t batch, m, n;
    size_t rows, columns; /* of a tile; the last ones of a product may have fewer */
    size_t down, across;  /* tiles of a product */
    size_t together;      /* products of a part; above 1 only where each is one tile */
    size_t parts;
};

/* Of `batch` products of m x k with k x n, none of these 0. */
struct tiles tiles_of(size_t batch, size_t m, size_t n, size_t k);

/* Rows first_row .. first_row + rows - 1 of a product, and columns alike. */
struct tile {
    size_t product, first_row, rows, first_column, columns;
};

size_t tiles_in(const struct tiles *tiles, size_t part);
struct tile tile_at(const struct tiles *tiles, size_t part, size_t number);

#endif
