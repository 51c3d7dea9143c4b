/* The share and who may go beyond it, and the memory of bodies. */
#include "online/receive_memory.h"

#include <string.h>

#include "core/clock.h"
#include "core/memory.h"

void receive_memory_open(struct receive_memory *memory, uint64_t share_bytes)
{
    *memory = (struct receive_memory){ .share_bytes = share_bytes };
    pthread_mutex_init(&memory->mutex, NULL);
}

/* ---- bodies ----------------------------------------------------------------------------- */

enum { PAGE_BYTES = 4096, STEP_BYTES = 64 << 10 };

static bool is_large(uint64_t bytes) { return bytes >= RECEIVE_MEMORY_LARGE_BYTES; }

/* Bodies of equal calls differ by the digits of their numbers. */
static uint64_t capacity_of(uint64_t bytes)
{
    return (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

/* What a large body lies in stands in front of it. */
static void *allocate_large(uint64_t capacity)
{
    unsigned char *block = memory_allocate((size_t)capacity + PAGE_BYTES);

    if (!block) return NULL;
    void *body = block + PAGE_BYTES - (uintptr_t)block % PAGE_BYTES;
    memcpy((unsigned char *)body - sizeof block, &block, sizeof block);
    memory_use_huge_pages(body, (size_t)capacity);
    return body;
}

static void release_large(void *body)
{
    void *block;

    memcpy(&block, (unsigned char *)body - sizeof block, sizeof block);
    memory_release(block);
}

void *receive_memory_body(uint64_t bytes)
{
    return is_large(bytes) ? allocate_large(capacity_of(bytes))
                           : memory_allocate((size_t)bytes + !bytes);
}

/* Take a kept body out of the list. The mutex is held. */
static void *take_kept(struct receive_memory *m, size_t i)
{
    void *body = m->kept[i].body;

    m->kept_bytes -= m->kept[i].capacity;
    m->n_kept--;
    memmove(&m->kept[i], &m->kept[i + 1], (m->n_kept - i) * sizeof m->kept[0]);
    return body;
}

/* Release kept bodies, the oldest first, until all that is there fits. */
static void make_room(struct receive_memory *m)
{
    void *body;

    do {
        pthread_mutex_lock(&m->mutex);
        bool fits = m->used_bytes + m->kept_bytes <= 2 * m->share_bytes;
        body = m->n_kept && !fits ? take_kept(m, 0) : NULL;
        pthread_mutex_unlock(&m->mutex);
        if (body) release_large(body);
    } while (body);
}

static void keep(struct receive_memory *m, void *body, uint64_t capacity)
{
    pthread_mutex_lock(&m->mutex);
    void *oldest = m->n_kept == RECEIVE_MEMORY_KEPT ? take_kept(m, 0) : NULL;
    m->kept[m->n_kept++] = (struct kept_body){ body, capacity };
    m->kept_bytes += capacity;
    pthread_mutex_unlock(&m->mutex);
    if (oldest) release_large(oldest);
    make_room(m);
}

void receive_memory_close(struct receive_memory *memory)
{
    while (memory->n_kept) release_large(take_kept(memory, 0));
    pthread_mutex_destroy(&memory->mutex);
}

/* ---- the share -------------------------------------------------------------------------- */

/* A new leader only where all others fit in the share, so that two shares suffice for all. */
static bool may_take(struct receive_memory *m, const void *holder, uint64_t bytes)
{
    if (bytes > m->share_bytes) return false;
    if (m->used_bytes + bytes <= m->share_bytes) return true;
    if (!m->leader && m->used_bytes <= m->share_bytes) {
        m->leader = holder;
        m->leading_since_s = clock_seconds();
    }
    return m->leader == holder && m->used_bytes + bytes <= 2 * m->share_bytes;
}

bool receive_memory_take(struct receive_memory *memory, const void *holder, uint64_t bytes)
{
    pthread_mutex_lock(&memory->mutex);
    bool taken = may_take(memory, holder, bytes);
    if (taken) memory->used_bytes += bytes;
    else memory->refused = true;
    pthread_mutex_unlock(&memory->mutex);
    if (taken) make_room(memory);
    return taken;
}

void *receive_memory_reuse(struct receive_memory *memory, const void *holder, uint64_t bytes)
{
    uint64_t capacity = capacity_of(bytes);
    void *body = NULL;

    if (!is_large(bytes)) return NULL; /* its memory is released as that of a small one */
    pthread_mutex_lock(&memory->mutex);
    size_t i = memory->n_kept;
    while (i && memory->kept[i - 1].capacity != capacity) i--;
    if (i && may_take(memory, holder, bytes)) {
        body = take_kept(memory, i - 1);
        memory->used_bytes += bytes;
    }
    pthread_mutex_unlock(&memory->mutex);
    return body;
}

bool receive_memory_give(struct receive_memory *memory, uint64_t bytes)
{
    pthread_mutex_lock(&memory->mutex);
    memory->used_bytes -= bytes;
    bool wake = bytes && memory->refused;
    memory->refused = memory->refused && !bytes;
    pthread_mutex_unlock(&memory->mutex);
    return wake;
}

bool receive_memory_give_body(struct receive_memory *memory, void *body, uint64_t bytes,
                              uint64_t taken)
{
    bool wake = receive_memory_give(memory, taken);

    if (body && is_large(bytes)) keep(memory, body, capacity_of(bytes));
    else memory_release(body);
    return wake;
}

void receive_memory_done(struct receive_memory *memory, const void *holder)
{
    pthread_mutex_lock(&memory->mutex);
    if (memory->leader == holder) memory->leader = NULL;
    pthread_mutex_unlock(&memory->mutex);
}

double receive_memory_leads_for(struct receive_memory *memory, const void *holder)
{
    pthread_mutex_lock(&memory->mutex);
    bool leads = memory->leader == holder && memory->refused;
    double since_s = memory->leading_since_s;
    pthread_mutex_unlock(&memory->mutex);
    return leads ? clock_seconds() - since_s : 0;
}
