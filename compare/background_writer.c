/* Two buffers: one is written while the other is filled. */
#include "compare/background_writer.h"

#include <pthread.h>

#include "core/memory.h"

struct background_writer {
    const struct file *file;
    pthread_t thread;
    bool is_threaded;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct csv_buffer text; /* being written while is_full */
    bool is_full, is_closing;
    struct status status; /* of the first write that failed */
};

static void write_text(struct background_writer *writer)
{
    struct status status = file_write_all(writer->file, writer->text.data, writer->text.length);
    if (!writer->status.code) writer->status = status;
    csv_buffer_clear(&writer->text);
}

static void *write_on(void *context)
{
    struct background_writer *writer = context;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->is_full && !writer->is_closing)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        if (!writer->is_full) break;
        pthread_mutex_unlock(
            &writer->mutex); /* the other side leaves the text alone while it is full */
        write_text(writer);
        pthread_mutex_lock(&writer->mutex);
        writer->is_full = false;
        pthread_cond_signal(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

struct status background_writer_open(struct background_writer **out, const struct file *file)
{
    struct background_writer *writer = memory_allocate_zeroed(1, sizeof *writer);
    if (!writer) return status_no_memory(sizeof *writer);
    writer->file = file;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    writer->is_threaded = pthread_create(&writer->thread, NULL, write_on, writer) == 0;
    *out = writer;
    return status_ok();
}

struct status background_writer_wait(struct background_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->is_full) pthread_cond_wait(&writer->changed, &writer->mutex);
    struct status status = writer->status;
    pthread_mutex_unlock(&writer->mutex);
    return status;
}

struct status background_writer_append(struct background_writer *writer, struct csv_buffer *text)
{
    TRY(background_writer_wait(writer));
    struct csv_buffer empty = writer->text;
    writer->text = *text;
    *text = empty;
    if (!writer->is_threaded) {
        write_text(writer);
        return writer->status;
    }
    pthread_mutex_lock(&writer->mutex);
    writer->is_full = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return status_ok();
}

void background_writer_close(struct background_writer *writer)
{
    if (!writer) return;
    if (writer->is_threaded) {
        pthread_mutex_lock(&writer->mutex);
        writer->is_closing = true;
        pthread_cond_signal(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
        pthread_join(writer->thread, NULL);
    }
    csv_buffer_release(&writer->text);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    memory_release(writer);
}
