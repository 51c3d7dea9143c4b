/* Recorded sessions of the real client (tests/data/online; PROBE_CAPTURES names a directory with more): the bodies
 * of their records, and what is expected of them. */
#ifndef PROBE_TESTS_ONLINE_CAPTURES_H
#define PROBE_TESTS_ONLINE_CAPTURES_H

#include <check.h>
#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"

enum { FRAME_NUMBERS = 4 * 8 };

struct captured_record {
    const cJSON *expected;
    void *body; /* of its own, for a sanitizer to see its ends */
    size_t bytes;
    char place[160];
};

struct capture {
    char directory[600];
    cJSON *expect;
    char *streams[16]; /* of the connections */
    size_t stream_bytes[16];
};

static inline const char *captures_directory(void)
{
    const char *named = getenv("PROBE_CAPTURES");
    return named ? named : PROBE_TEST_DATA "/online";
}

static inline char *capture_read(const char *directory, const char *name, size_t *bytes)
{
    char path[1400];
    char *text;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    struct status status = file_read_path(&text, bytes, path, FILES_TRUSTED);
    ck_assert_msg(!status.code, "%s", status.text);
    return text;
}

static inline void capture_open(struct capture *out, const char *session)
{
    size_t bytes;
    *out = (struct capture){ .expect = NULL };
    (void)snprintf(out->directory, sizeof out->directory, "%s/%s", captures_directory(), session);
    char *text = capture_read(out->directory, "expect.json", &bytes);
    out->expect = cJSON_ParseWithLength(text, bytes);
    ck_assert_ptr_nonnull(out->expect);
    memory_release(text);
}

static inline void capture_close(struct capture *capture)
{
    for (size_t i = 0; i < 16; i++) memory_release(capture->streams[i]);
    cJSON_Delete(capture->expect);
}

static inline int capture_int(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    ck_assert_msg(cJSON_IsNumber(item), "%s", key);
    return item->valueint;
}

/* Behind the four numbers and the checksum of a frame. */
static inline void capture_frame(struct captured_record *out, struct capture *capture,
                                 const cJSON *record)
{
    int connection = capture_int(record, "connection"), number = capture_int(record, "frame");
    const cJSON *frame, *found = NULL;
    bool md5 = !strcmp(cJSON_GetObjectItem(capture->expect, "checksum")->valuestring, "md5");
    cJSON_ArrayForEach(
        frame, cJSON_GetObjectItem(capture->expect,
                                   "frames")) if (capture_int(frame, "connection") == connection &&
                                                  capture_int(frame, "frame") == number)
        found = frame;
    ck_assert_ptr_nonnull(found);
    if (!capture->streams[connection]) {
        char name[32];
        (void)snprintf(name, sizeof name, "c2s.%d.bin", connection);
        capture->streams[connection] =
            capture_read(capture->directory, name, &capture->stream_bytes[connection]);
    }
    const cJSON *length = cJSON_GetObjectItem(found, "length");
    size_t start = (size_t)capture_int(found, "offset") + FRAME_NUMBERS + (md5 ? 32 : 8);
    out->bytes = (size_t)length->valueint;
    ck_assert_uint_le(start + out->bytes, capture->stream_bytes[connection]);
    out->body = memory_allocate(out->bytes);
    memcpy(out->body, capture->streams[connection] + start, out->bytes);
}

/* The body of one of expect["records"]. Release `body` with memory_release. */
static inline void capture_record(struct captured_record *out, struct capture *capture,
                                  const cJSON *record)
{
    const cJSON *file = cJSON_GetObjectItem(record, "file");
    *out = (struct captured_record){ .expected = record };
    (void)snprintf(out->place, sizeof out->place, "%s of %s",
                   cJSON_GetObjectItem(record, "name")->valuestring,
                   strrchr(capture->directory, '/') + 1);
    if (file) {
        char name[300];
        (void)snprintf(name, sizeof name, "files/%s", file->valuestring);
        out->body = capture_read(capture->directory, name, &out->bytes);
    } else {
        capture_frame(out, capture, record);
    }
}

/* Call `visit` with each record of each session. */
static inline size_t captures_each(void (*visit)(const struct captured_record *record))
{
    DIR *directory = opendir(captures_directory());
    size_t count = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct capture capture;
        const cJSON *expected;
        char path[1400];
        (void)snprintf(path, sizeof path, "%s/%s/expect.json", captures_directory(), entry->d_name);
        if (!file_exists(path)) continue;
        capture_open(&capture, entry->d_name);
        cJSON_ArrayForEach(expected, cJSON_GetObjectItem(capture.expect, "records"))
        {
            struct captured_record record;
            capture_record(&record, &capture, expected);
            visit(&record);
            memory_release(record.body);
            count++;
        }
        capture_close(&capture);
    }
    (void)closedir(directory);
    return count;
}

#endif
