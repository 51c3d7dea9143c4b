/* Check writes the place of every assertion that holds to a file, where it looks for the last one when a test crashed: a system
 * call each, nine tenths of the time of tests that compare elements one by one. The linker puts this function in the place of
 * Check's (--wrap, CMakeLists.txt), which hears of the first ten thousand and of some later ones. Assertions that fail tell their
 * place themselves. */
#include <stdatomic.h>

enum { ALL = 10000, LATER = 1000 };

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
    static atomic_uint marks;
    unsigned mark = atomic_fetch_add_explicit(&marks, 1, memory_order_relaxed);
    if (mark < ALL || mark % LATER == 0) __real__mark_point(file, line);
}
