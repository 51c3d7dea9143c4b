/* A kernel with a mistake to find: C (m x n) = A (m x k) B (k x n), row-major, summed in tiles of 64 along
 * K. The tile that K does not fill at the end is left out.
 *
 *     cc -O2 -shared -fPIC -o libtiled.so tiled.c
 */
enum { TILE = 64 };

void tiled_matmul(int m, int n, int k, const float *a, const float *b, float *c)
{
    for (int i = 0; i < m * n; i++) c[i] = 0;
    for (int tile = 0; tile + TILE <= k; tile += TILE)
        for (int i = 0; i < m; i++)
            for (int l = tile; l < tile + TILE; l++)
                for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}
