/* Texts of floating-point numbers against the C library's, many more than a build has time for.
 *
 *     decimal_texts [--from N] [--count N] [--jobs N]
 *
 * Of double number N.. (a permutation of all bit patterns, so that any range is a sample, and a run that was
 * stopped goes on where it was) and of the float32 whose bits are the low half of N:
 *
 *   - strtod (strtof) reads the text as the same number, and printf's nearest text of one digit less is
 *     another number;
 *   - the text is the number's nearest of its length: printf's of as many digits, where that reads back;
 *   - with a fixed number of decimals the bytes are those of printf.
 *
 * --count 4294967296 has all float32. Prints a line, and the first of each kind that is wrong; exit status 1.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fixed.h"
#include "core/shortest.h"

/* Odd multipliers and shifts are permutations of 64 bits (the finalizer of MurmurHash3); the low half takes
 * every value once in 2^32 numbers, as `n` does. */
static uint64_t pattern(uint64_t n)
{
    n ^= n >> 33;
    n *= UINT64_C(0xff51afd7ed558ccd);
    n ^= n >> 33;
    n *= UINT64_C(0xc4ceb9fe1a85ec53);
    return n ^ n >> 33;
}

/* Digits d.ddd of a text as "%e" would write them: in `digits` without the zeros around; their number. */
static int significant(char digits[40], const char *text)
{
    int n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n || *text != '0')) digits[n++] = *text;
    while (n && digits[n - 1] == '0') n--;
    digits[n] = '\0';
    return n;
}

static bool reads_as(const char *text, double x, enum dtype dtype)
{
    return dtype == DT_F32 ? strtof(text, NULL) == (float)x : strtod(text, NULL) == x;
}

static const char *fault_of(double x, enum dtype dtype)
{
    char text[SHORTEST_BYTES], other[64], digits[40], nearest[40];
    size_t length = shortest_typed(text, x, dtype);
    if (length != strlen(text)) return "length";
    if (!isfinite(x) || x == 0) return NULL;
    if (!reads_as(text, x, dtype)) return "does not read back";
    int n = significant(digits, text);
    if (n > 1) {
        (void)snprintf(other, sizeof other, "%.*e", n - 2, x);
        if (reads_as(other, x, dtype)) return "is not the shortest";
    }
    (void)snprintf(other, sizeof other, "%.*e", n - 1, x);
    (void)significant(nearest, other);
    if (reads_as(other, x, dtype) && strcmp(digits, nearest) != 0) return "is not the nearest";
    return NULL;
}

static const char *fault_of_fixed(double x, int decimals)
{
    char text[FIXED_BYTES], want[FIXED_BYTES];
    size_t length = fixed_double(text, x, decimals);
    if (isnan(x)) return strcmp(text, "nan") ? "nan" : NULL;
    (void)snprintf(want, sizeof want, "%.*f", decimals, x);
    return strcmp(text, want) || length != strlen(want) ? "is not printf's" : NULL;
}

static int report(uint64_t n, double x, const char *what, const char *fault)
{
    if (!fault) return 0;
    printf("number %llu: the %s text of %a %s\n", (unsigned long long)n, what, x, fault);
    return 1;
}

static int check(uint64_t n)
{
    uint64_t bits = pattern(n);
    uint32_t low = (uint32_t)n;
    double x;
    float single;
    memcpy(&x, &bits, sizeof x);
    memcpy(&single, &low, sizeof single);
    double moderate = ldexp((double)(int64_t)bits, (int)(n % 130) - 110);
    return report(n, x, "double", fault_of(x, DT_F64)) +
           report(n, (double)single, "float32", fault_of((double)single, DT_F32)) +
           report(n, moderate, "fixed", fault_of_fixed(moderate, (int)(n % (FIXED_DECIMALS + 1))));
}

static int check_range(uint64_t from, uint64_t count, uint64_t step)
{
    enum { MOST_TOLD = 10 };
    int faults = 0;
    for (uint64_t i = 0; i < count && faults < MOST_TOLD; i += step) faults += check(from + i);
    return faults;
}

int main(int argc, char **argv)
{
    uint64_t from = 0, count = 1000000000;
    int jobs = 1, failed = 0, status;
    for (int at = 1; at + 1 < argc; at += 2) {
        if (!strcmp(argv[at], "--from")) from = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "--count")) count = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "--jobs")) jobs = atoi(argv[at + 1]);
        else return 2;
    }
    if (jobs < 1) return 2;
    for (int job = 0; job < jobs; job++) {
        if (fork()) continue;
        uint64_t left = count > (uint64_t)job ? count - (uint64_t)job : 0;
        exit(check_range(from + (uint64_t)job, left, (uint64_t)jobs) ? 1 : 0);
    }
    while (wait(&status) > 0) failed |= status != 0;
    printf("%llu doubles, as many float32 and fixed texts from number %llu on: %s\n",
           (unsigned long long)count, (unsigned long long)from,
           failed ? "some are wrong" : "those of the C library");
    return failed;
}
