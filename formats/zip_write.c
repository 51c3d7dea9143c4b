/* Blocks stand in a ring. The caller fills them, threads deflate them, and the caller writes what is done,
 * oldest first; when it must wait and one is not taken yet, it deflates that one itself, so that one thread is
 * enough. The first level of deflate is used: it takes a third of the time of the usual one, and a
 * tenth more room.
 */
#include "formats/zip_write.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "formats/crc32.h"
#include "formats/csv.h"
#include "formats/zip_record.h"

enum {
    BLOCK = 512 << 10,
    DICTIONARY = 32 << 10, /* as far as deflate looks back */
    THREADS_MAX = 16,
    LEVEL = 1,
    RAW_WINDOW = -15, /* no header of zlib's own */
};

enum block_state { BLOCK_FREE, BLOCK_FULL, BLOCK_TAKEN, BLOCK_DONE };

struct block {
    enum block_state state; /* under the lock, when there are threads */
    bool last, failed;
    size_t before, count, packed; /* bytes of the dictionary, of the block, and deflated */
    uint32_t crc;
    unsigned char *bytes; /* DICTIONARY, BLOCK, and room for what it is deflated to */
};

struct zip_writer {
    const struct file *file;
    uint64_t offset; /* of the end of the file */
    struct zip_record entry;
    bool in_entry;
    struct csv_buffer directory;
    uint64_t records;

    struct block *ring;
    size_t n_blocks, room; /* room: for a deflated block */
    size_t fill;           /* the block that is being filled */
    size_t oldest; /* the first that is not written; under the lock, when there are threads */
    pthread_t threads[THREADS_MAX];
    unsigned wanted, started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
};

/* ---- deflating -------------------------------------------------------------------------- */

static void deflate_block(struct block *block, size_t room)
{
    z_stream stream = { .zalloc = Z_NULL };
    unsigned char *bytes = block->bytes + DICTIONARY;

    block->crc = crc32_append(0, bytes, block->count);
    block->failed = deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
                    Z_OK;
    if (block->failed) return;
    if (block->before)
        (void)deflateSetDictionary(&stream, bytes - block->before, (unsigned)block->before);
    stream.next_in = bytes;
    stream.avail_in = (unsigned)block->count;
    stream.next_out = bytes + BLOCK;
    stream.avail_out = (unsigned)room;
    int result = deflate(&stream, block->last ? Z_FINISH : Z_SYNC_FLUSH);
    block->failed = result != (block->last ? Z_STREAM_END : Z_OK) || stream.avail_in;
    block->packed = room - stream.avail_out;
    (void)deflateEnd(&stream);
}

/* A block that nobody has taken, oldest first. */
static struct block *take_block(struct zip_writer *zip)
{
    for (size_t i = 0; i < zip->n_blocks; i++) {
        struct block *block = &zip->ring[(zip->oldest + i) % zip->n_blocks];
        if (block->state != BLOCK_FULL) continue;
        block->state = BLOCK_TAKEN;
        return block;
    }
    return NULL;
}

/* Called with the lock, which is open while the block is deflated. */
static void deflate_taken(struct zip_writer *zip, struct block *block)
{
    (void)pthread_mutex_unlock(&zip->lock);
    deflate_block(block, zip->room);
    (void)pthread_mutex_lock(&zip->lock);
    block->state = BLOCK_DONE;
    (void)pthread_cond_broadcast(&zip->changed);
}

static void *run_thread(void *argument)
{
    struct zip_writer *zip = argument;

    (void)pthread_mutex_lock(&zip->lock);
    while (!zip->stop) {
        struct block *block = take_block(zip);
        if (block) deflate_taken(zip, block);
        else (void)pthread_cond_wait(&zip->changed, &zip->lock);
    }
    (void)pthread_mutex_unlock(&zip->lock);
    return NULL;
}

/* ---- blocks ----------------------------------------------------------------------------- */

static struct status write_oldest(struct zip_writer *zip)
{
    struct block *block = &zip->ring[zip->oldest];

    (void)pthread_mutex_lock(&zip->lock);
    while (block->state != BLOCK_DONE) {
        struct block *other = take_block(zip);
        if (other) deflate_taken(zip, other);
        else (void)pthread_cond_wait(&zip->changed, &zip->lock);
    }
    (void)pthread_mutex_unlock(&zip->lock);
    if (block->failed) return status_no_memory(zip->room);
    TRY(file_write_all(zip->file, block->bytes + DICTIONARY + BLOCK, block->packed));
    zip->offset += block->packed;
    zip->entry.packed += block->packed;
    zip->entry.bytes += block->count;
    zip->entry.crc = (uint32_t)crc32_combine(zip->entry.crc, block->crc, (z_off_t)block->count);
    (void)pthread_mutex_lock(&zip->lock);
    block->state = BLOCK_FREE;
    zip->oldest = (zip->oldest + 1) % zip->n_blocks;
    (void)pthread_mutex_unlock(&zip->lock);
    return status_ok();
}

/* Hand the block that was filled to the threads, and begin the next with its end before it. */
static struct status pass_on(struct zip_writer *zip, bool last)
{
    struct block *full = &zip->ring[zip->fill];
    size_t next = (zip->fill + 1) % zip->n_blocks;
    struct block *block = &zip->ring[next];

    if (!last)
        while (zip->started + 1 < zip->wanted &&
               !pthread_create(&zip->threads[zip->started], NULL, run_thread, zip))
            zip->started++;
    full->last = last;
    (void)pthread_mutex_lock(&zip->lock);
    full->state = BLOCK_FULL;
    (void)pthread_cond_broadcast(&zip->changed);
    (void)pthread_mutex_unlock(&zip->lock);
    if (next == zip->oldest) TRY(write_oldest(zip));
    zip->fill = next;
    block->count = 0;
    block->before = last ? 0 : DICTIONARY;
    if (!last) memcpy(block->bytes, full->bytes + BLOCK, DICTIONARY);
    return status_ok();
}

/* ---- the archive ------------------------------------------------------------------------ */

static struct status make_blocks(struct zip_writer *zip)
{
    zip->room = compressBound(BLOCK) + 64; /* what a flush adds */
    zip->ring = memory_allocate_zeroed(zip->n_blocks, sizeof *zip->ring);
    if (!zip->ring) return status_no_memory(zip->n_blocks * sizeof *zip->ring);
    for (size_t i = 0; i < zip->n_blocks; i++) {
        zip->ring[i].bytes = memory_allocate(DICTIONARY + BLOCK + zip->room);
        if (!zip->ring[i].bytes) return status_no_memory(zip->room);
    }
    return status_ok();
}

struct status zip_writer_create(struct zip_writer **out, const struct file *file, unsigned threads)
{
    struct zip_writer *zip = memory_allocate_zeroed(1, sizeof *zip);

    *out = NULL;
    if (!zip) return status_no_memory(sizeof *zip);
    zip->file = file;
    zip->wanted = threads < 1 ? 1 : threads < THREADS_MAX ? threads : THREADS_MAX;
    zip->n_blocks = zip->wanted + 2;
    (void)pthread_mutex_init(&zip->lock, NULL);
    (void)pthread_cond_init(&zip->changed, NULL);
    struct status status = make_blocks(zip);
    if (status.code) zip_writer_release(zip);
    else *out = zip;
    return status;
}

/* The local header; written once more when the sizes are known, in the same room. */
static struct status make_header(struct csv_buffer *out, const struct zip_record *record)
{
    return zip_append_local(out, record, zip_record_is_wide(record) ? 0 : ZIP_WIDE_BYTES);
}

struct status zip_writer_begin(struct zip_writer *zip, const char *name)
{
    struct csv_buffer header = { 0 };

    assert(!zip->in_entry);
    zip->in_entry = true;
    zip->entry = (struct zip_record){
        .name = name, .deflated = true, .header = zip->offset, .most = UINT32_MAX - 1
    };
    struct status status = make_header(&header, &zip->entry);
    if (!status.code) status = file_write_all(zip->file, header.data, header.length);
    zip->offset += header.length;
    csv_buffer_release(&header);
    zip->ring[zip->fill].count = zip->ring[zip->fill].before = 0;
    return status;
}

struct status zip_writer_add(struct zip_writer *zip, const void *bytes, size_t count)
{
    const char *from = bytes;

    while (count) {
        struct block *block = &zip->ring[zip->fill];
        size_t part = BLOCK - block->count < count ? BLOCK - block->count : count;
        memcpy(block->bytes + DICTIONARY + block->count, from, part);
        block->count += part;
        from += part;
        count -= part;
        if (block->count == BLOCK) TRY(pass_on(zip, false));
    }
    return status_ok();
}

struct status zip_writer_end(struct zip_writer *zip)
{
    struct csv_buffer header = { 0 };

    TRY(pass_on(zip, true));
    while (zip->oldest != zip->fill) TRY(write_oldest(zip));
    struct status status = make_header(&header, &zip->entry);
    if (!status.code)
        status = file_write_at(zip->file, header.data, header.length, zip->entry.header);
    csv_buffer_release(&header);
    if (!status.code) status = zip_append_central(&zip->directory, &zip->entry);
    zip->records++;
    zip->in_entry = false;
    return status;
}

struct status zip_writer_finish(struct zip_writer *zip)
{
    assert(!zip->in_entry);
    TRY(zip_append_end(&zip->directory, zip->records, zip->offset, zip->directory.length,
                       UINT32_MAX - 1));
    return file_write_all(zip->file, zip->directory.data, zip->directory.length);
}

void zip_writer_release(struct zip_writer *zip)
{
    if (!zip) return;
    (void)pthread_mutex_lock(&zip->lock);
    zip->stop = true;
    (void)pthread_cond_broadcast(&zip->changed);
    (void)pthread_mutex_unlock(&zip->lock);
    for (unsigned i = 0; i < zip->started; i++) (void)pthread_join(zip->threads[i], NULL);
    (void)pthread_cond_destroy(&zip->changed);
    (void)pthread_mutex_destroy(&zip->lock);
    for (size_t i = 0; zip->ring && i < zip->n_blocks; i++) memory_release(zip->ring[i].bytes);
    memory_release(zip->ring);
    csv_buffer_release(&zip->directory);
    memory_release(zip);
}
