/* Bytes of a connection of any kind, in pieces of any size: the first byte says how large, then the parser
 * of msprobe's frames gets the rest. Every frame must be the same as when all comes at once. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "online/peer_frames.h"

enum { SHARE = 1 << 16, LIMIT = 1 << 20, FRAMES = 64 };

struct seen {
    struct peer_frame frames[FRAMES];
    size_t count;
    enum status_code end;
};

static void read_all(struct seen *seen, const uint8_t *data, size_t size, size_t piece)
{
    struct receive_memory memory;
    struct peer_reader reader;
    size_t start = 0, end = 0;
    memset(seen, 0, sizeof *seen);
    receive_memory_open(&memory, SHARE);
    peer_reader_open(&reader, &memory, LIMIT);
    while (end < size && !seen->end) {
        enum peer_progress progress;
        end = piece < size - end ? end + piece : size;
        do {
            size_t taken;
            struct status status =
                peer_reader_take(&progress, &taken, &reader, data + start, end - start);
            assert(taken <= end - start && (!status.code || status.text[0]));
            start += taken;
            seen->end = status.code;
            if (status.code) break;
            assert(progress != PEER_WAITS && memory.used_bytes <= SHARE);
            if (progress == PEER_FRAME && seen->count < FRAMES) {
                seen->frames[seen->count] = reader.frame;
                seen->frames[seen->count++].body = NULL;
                if (reader.frame.body) (void)peer_frame_is_stop(&reader.frame);
            }
        } while (progress == PEER_FRAME);
    }
    peer_reader_close(&reader);
    assert(!memory.used_bytes);
    receive_memory_close(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen whole, pieces;
    if (size < 2) return 0;
    const size_t piece = 1u + data[0];
    read_all(&whole, data + 1, size - 1, size);
    read_all(&pieces, data + 1, size - 1, piece);
    assert(pieces.count == whole.count && pieces.end == whole.end);
    for (size_t i = 0; i < pieces.count; i++)
        assert(!memcmp(&whole.frames[i].numbers, &pieces.frames[i].numbers,
                       sizeof whole.frames[i].numbers) &&
               whole.frames[i].is_intact == pieces.frames[i].is_intact);
    return 0;
}
