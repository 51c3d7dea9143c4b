/* Recorded sessions of msprobe's client (tests/data/online, or the folder of PROBE_ONLINE_CAPTURES): the
 * bytes of each connection, and for each frame what it is and what a right server answers. */
#ifndef PROBE_TESTS_CAPTURES_H
#define PROBE_TESTS_CAPTURES_H

#include <cjson/cJSON.h>
#include <dirent.h>

#include "support/scratch.h"

enum { CAPTURES_MAX = 32, CAPTURE_CONNECTIONS_MAX = 4 };

struct captured_frame {
    int connection;
    uint64_t sequence, rank, step, length;
    bool is_intact, is_stop, is_repeated;
    char answer[6];
};

struct capture {
    char name[64];
    size_t connections;
    unsigned char *bytes[CAPTURE_CONNECTIONS_MAX];
    size_t count[CAPTURE_CONNECTIONS_MAX];
    size_t unfinished[CAPTURE_CONNECTIONS_MAX]; /* of a frame that was cut */
    struct captured_frame *frames;              /* of all connections, each in its order */
    size_t n_frames;
    size_t n_records; /* to be judged */
};

static inline const char *captures_folder(void)
{
    const char *folder = getenv("PROBE_ONLINE_CAPTURES");
    return folder ? folder : PROBE_TEST_DATA "/online";
}

static inline uint64_t captured_number(const cJSON *object, const char *key)
{
    return (uint64_t)cJSON_GetObjectItem(object, key)->valuedouble;
}

static inline void capture_read_frames(struct capture *c, const cJSON *frames)
{
    const cJSON *item;
    c->frames = calloc((size_t)cJSON_GetArraySize(frames) + 1, sizeof *c->frames);
    cJSON_ArrayForEach(item, frames)
    {
        struct captured_frame *f = &c->frames[c->n_frames++];
        f->connection = (int)captured_number(item, "connection");
        f->sequence = captured_number(item, "seq");
        f->rank = captured_number(item, "rank");
        f->step = captured_number(item, "step");
        f->length = captured_number(item, "length");
        f->is_intact = cJSON_IsTrue(cJSON_GetObjectItem(item, "checksum_ok"));
        f->is_repeated = cJSON_IsTrue(cJSON_GetObjectItem(item, "repeated"));
        f->is_stop = !strcmp(cJSON_GetObjectItem(item, "kind")->valuestring, "stop");
        snprintf(f->answer, sizeof f->answer, "%s",
                 cJSON_GetObjectItem(item, "answer")->valuestring);
    }
}

/* Can the program check the checksums of a session? MD5 needs OpenSSL. */
static inline bool capture_has_known_checksums(const cJSON *expect)
{
#ifdef PROBE_HAS_OPENSSL
    return expect != NULL;
#else
    const cJSON *checksum = cJSON_GetObjectItem(expect, "checksum");
    return cJSON_IsString(checksum) && !strcmp(checksum->valuestring, "crc");
#endif
}

/* False for a session that is none over TCP, or whose checksums are not known here. */
static inline bool capture_read(struct capture *out, const char *name)
{
    char path[512];
    *out = (struct capture){ .connections = 0 };
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s/expect.json", captures_folder(), name);
    if (access(path, R_OK)) return false;
    char *text = scratch_read(path, NULL);
    cJSON *expect = cJSON_Parse(text);
    const cJSON *frames = cJSON_GetObjectItem(expect, "frames");
    const cJSON *unfinished = cJSON_GetObjectItem(expect, "unfinished_bytes");
    for (; capture_has_known_checksums(expect); out->connections++) {
        snprintf(path, sizeof path, "%s/%s/c2s.%zu.bin", captures_folder(), name, out->connections);
        if (access(path, R_OK)) break;
        const size_t i = out->connections;
        out->bytes[i] = (unsigned char *)scratch_read(path, &out->count[i]);
        out->unfinished[i] = (size_t)cJSON_GetArrayItem(unfinished, (int)i)->valuedouble;
    }
    if (out->connections) capture_read_frames(out, frames);
    out->n_records = (size_t)cJSON_GetArraySize(cJSON_GetObjectItem(expect, "records"));
    cJSON_Delete(expect);
    free(text);
    return out->connections > 0;
}

static inline void capture_release(struct capture *c)
{
    for (size_t i = 0; i < c->connections; i++) free(c->bytes[i]);
    free(c->frames);
}

/* All of them; how many. */
static inline size_t captures_read(struct capture out[CAPTURES_MAX])
{
    struct dirent **names;
    size_t found = 0;
    int count = scandir(captures_folder(), &names, NULL, alphasort);
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.' && capture_read(&out[found], names[i]->d_name)) found++;
        free(names[i]);
    }
    free(names);
    ck_assert_uint_gt(found, 0);
    return found;
}

#endif
