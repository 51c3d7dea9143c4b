/* Measured with panels of 128 terms on a core with 1 MB of second-level cache: against a whole product of 1024 x 1024 dgemm
 * takes 1.02 of the time for tiles of 512 x 1024, 1.05 for 512 x 512, 1.07 for 256 x 512 and 1.1 for 256 x 256, and in smaller
 * ones more elements of the factors are converted. */
#include "bench/arithmetic/tiles.h"

static const struct size {
    size_t rows, columns;
} sizes[] = { { 512, 1024 }, { 512, 512 }, { 256, 512 }, { 256, 256 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

enum {
    MOST_LINES = 4096,       /* rows or columns of a tile whose other side is short */
    ALIGNED = 16,            /* rows and columns of a tile are a multiple */
    LEAST_PRODUCTS = 1 << 22 /* multiplications of a part */
};
static const double most_products = 0x1p31; /* of a part: some 50 ms */

static size_t at_least(size_t x, size_t least) { return x > least ? x : least; }
static size_t at_most(size_t x, size_t most) { return x < most ? x : most; }

/* Division of n into equal pieces of `most` or fewer. */
static size_t even_piece(size_t n, size_t most)
{
    size_t pieces = (n - 1) / most + 1, piece = (n - 1) / pieces + 1;
    piece = (piece + ALIGNED - 1) / ALIGNED * ALIGNED;
    return at_most(piece, n);
}

struct tiles tiles_of(size_t batch, size_t m, size_t n, size_t k)
{
    struct tiles tiles = { .batch = batch, .m = m, .n = n, .together = 1 };
    const struct size *size = sizes;
    while (size < sizes + SIZES - 1 &&
           (double)size->rows * (double)size->columns * (double)k > most_products)
        size++;
    size_t rows = size->rows, columns = size->columns, elements = rows * columns;
    /* The other side of a narrow product is longer. */
    if (m < rows) columns = at_most(at_least(elements / m, columns), MOST_LINES);
    if (n < columns) rows = at_most(at_least(elements / n, rows), MOST_LINES);
    tiles.rows = even_piece(m, rows);
    tiles.columns = even_piece(n, columns);
    tiles.down = (m - 1) / tiles.rows + 1;
    tiles.across = (n - 1) / tiles.columns + 1;
    if (tiles.down == 1 && tiles.across == 1 && m * n < LEAST_PRODUCTS / k)
        tiles.together = at_most(LEAST_PRODUCTS / k / (m * n), batch);
    tiles.parts = ((batch - 1) / tiles.together + 1) * tiles.down * tiles.across;
    return tiles;
}

size_t tiles_in(const struct tiles *tiles, size_t part)
{
    return tiles->together == 1 ? 1
                                : at_most(tiles->together, tiles->batch - part * tiles->together);
}

struct tile tile_at(const struct tiles *tiles, size_t part, size_t number)
{
    size_t in_product = tiles->down * tiles->across, which = part % in_product;
    size_t product = part / in_product * tiles->together + number;
    size_t row = which / tiles->across * tiles->rows,
           column = which % tiles->across * tiles->columns;
    return (struct tile){ product, row, at_most(tiles->rows, tiles->m - row), column,
                          at_most(tiles->columns, tiles->n - column) };
}
