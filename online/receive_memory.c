/* The share, and who may go beyond it. */
#include "online/receive_memory.h"

#include "core/clock.h"

void receive_memory_open(struct receive_memory *memory, uint64_t share_bytes)
{
    *memory = (struct receive_memory){ .share_bytes = share_bytes };
    pthread_mutex_init(&memory->mutex, NULL);
}

void receive_memory_close(struct receive_memory *memory) { pthread_mutex_destroy(&memory->mutex); }

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
    return taken;
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
