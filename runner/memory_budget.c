/* Callers take tickets and wait in that order until their bytes fit. */
#include "runner/memory_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void memory_budget_init(struct memory_budget *budget, uint64_t limit_bytes)
{
    *budget = (struct memory_budget){ .limit_bytes = limit_bytes };
    pthread_mutex_init(&budget->mutex, NULL);
    pthread_cond_init(&budget->changed, NULL);
}

void memory_budget_destroy(struct memory_budget *budget)
{
    pthread_cond_destroy(&budget->changed);
    pthread_mutex_destroy(&budget->mutex);
}

bool memory_budget_take(struct memory_budget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->mutex);
    uint64_t ticket = budget->next_ticket++;
    while (!budget->closed &&
           (ticket != budget->served || bytes > budget->limit_bytes - budget->used_bytes))
        pthread_cond_wait(&budget->changed, &budget->mutex);
    bool open = !budget->closed;
    if (open) {
        budget->used_bytes += bytes;
        budget->served++;
        pthread_cond_broadcast(&budget->changed);
    }
    pthread_mutex_unlock(&budget->mutex);
    return open;
}

void memory_budget_return(struct memory_budget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->mutex);
    budget->used_bytes -= bytes;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->mutex);
}

void memory_budget_close(struct memory_budget *budget)
{
    pthread_mutex_lock(&budget->mutex);
    budget->closed = true;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->mutex);
}

/* A number in a one-line file of the kernel; 0 when there is none ("max"). */
static uint64_t number_in(const char *path)
{
    unsigned long long number = 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own digits */
    if (fscanf(file, "%llu", &number) != 1) number = 0;
    fclose(file);
    return number;
}

uint64_t memory_available_bytes(void)
{
    uint64_t available = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char line[128];
    unsigned long long kilobytes;
    FILE *file = fopen("/proc/meminfo", "re");

    if (file) {
        while (fgets(line, sizeof line, file))
            /* NOLINTNEXTLINE(cert-err34-c): the kernel's own digits */
            if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
                available = kilobytes * 1024;
        fclose(file);
    }
    /* A container often has less than the machine (control groups, version 2). */
    uint64_t limit = number_in("/sys/fs/cgroup/memory.max");
    uint64_t used = number_in("/sys/fs/cgroup/memory.current");
    if (limit && limit > used && limit - used < available) available = limit - used;
    return available;
}
