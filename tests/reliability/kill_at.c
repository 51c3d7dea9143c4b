/* Loaded into the program under test: kills the process right after its n-th change of a file
 * (PROBE_KILL_AT=n), so that every moment at which something on disk has changed can be tried.
 *
 * Counted are successful writes, syncs, truncations and renames of regular files. With
 * PROBE_COUNT_FILE set, the number of them is written there when the process ends by itself.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long changes;

static bool is_regular(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

static void count_change(void)
{
    long number = atomic_fetch_add(&changes, 1) + 1;
    const char *at = getenv("PROBE_KILL_AT");
    if (at && number == atol(at)) raise(SIGKILL);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("PROBE_COUNT_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&changes));
    fclose(file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t bytes)
{
    ssize_t done = NEXT(write)(fd, data, bytes);
    if (done > 0 && is_regular(fd)) count_change();
    return done;
}

int fsync(int fd)
{
    int result = NEXT(fsync)(fd);
    if (!result && is_regular(fd)) count_change();
    return result;
}

int fdatasync(int fd)
{
    int result = NEXT(fdatasync)(fd);
    if (!result && is_regular(fd)) count_change();
    return result;
}

int ftruncate(int fd, off_t bytes)
{
    int result = NEXT(ftruncate)(fd, bytes);
    if (!result) count_change();
    return result;
}

int rename(const char *from, const char *to)
{
    int result = NEXT(rename)(from, to);
    if (!result) count_change();
    return result;
}
