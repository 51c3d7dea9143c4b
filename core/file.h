/* File operations, in one place so that rules are kept everywhere and a test can make any
 * system call fail.
 *
 * What is read may come from another machine and another user, so opening for reading checks
 * what the pre-check's rules ask: the name has no control characters and is not overlong, the
 * file is a regular one (a FIFO would hang, a device never ends), not a symbolic link, owned by
 * the caller or root, not writable by everybody, in a directory in which not everybody can
 * replace it, and below the size limit of its suffix. A `struct file_policy` says which of these
 * checks the user has waived. (The peer allows only names made of [a-zA-Z0-9_.:/-]. Spaces and
 * Chinese characters in a path harm nothing here, because no shell ever sees it; only control
 * characters, which could forge lines of a terminal or a log, are refused.)
 *
 * What is written is created exclusively with mode 0640, in directories of mode 0750.
 *
 * Every failure is a status whose text names the operation, the path and the system's reason.
 * Codes: STATUS_BAD_INPUT for a file that the rules refuse or that does not exist, STATUS_IO
 * when a system call failed, STATUS_NO_MEMORY.
 */
#ifndef PROBE_CORE_FILE_H
#define PROBE_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* An open file. A closed or never opened one has fd < 0: struct file f = FILE_NONE. */
struct file {
    int fd;
    char *path; /* for messages; owned */
};
#define FILE_NONE ((struct file){ .fd = -1 })

/* ---- reading ---------------------------------------------------------------------------- */

/* How far the files that are opened are trusted. Everything that reads a user's file takes one and
 * hands it on, so that one option decides for all files of a run. A FIFO, device or directory in
 * place of a file is refused whatever the policy says. */
struct file_policy {
    bool trusted;  /* no checks of links, owner, permissions and size */
    bool any_size; /* no check of the size: who reads it streams, and knows the file by its start */
};
#define FILES_CHECKED ((struct file_policy){ .trusted = false })
#define FILES_TRUSTED ((struct file_policy){ .trusted = true })

/* Open a regular file for reading after the checks above. `out` is FILE_NONE on failure. */
struct status file_open_read(struct file *out, const char *path, struct file_policy policy);

/* Open a directory, as the place for file_open_read_in. Symbolic links on the way to it are
 * followed; the directory itself gets the owner and permission checks. */
struct status file_open_directory(struct file *out, const char *path, struct file_policy policy);

/* Open `name` inside an open directory, for names that come from a file: the name is relative,
 * may have sub-directories, and cannot leave: no "..", no absolute name, no symbolic link on
 * the way or at the end, whatever the policy says. Per-file checks as file_open_read. */
struct status file_open_read_in(struct file *out, const struct file *directory, const char *name,
                                struct file_policy policy);

/* Bytes of an open file. */
struct status file_size(uint64_t *bytes, const struct file *file);

/* At most `bytes` bytes at `offset`; *got < bytes only at the end of the file. */
struct status file_read_at(size_t *got, const struct file *file, void *buffer, size_t bytes,
                           uint64_t offset);

/* The whole file, with a NUL behind it, in memory to be freed with memory_release. The size
 * limit of the suffix holds for trusted files too. */
struct status file_read_all(char **text, size_t *bytes, const struct file *file);

/* file_open_read, file_read_all, file_close. */
struct status file_read_path(char **text, size_t *bytes, const char *path,
                             struct file_policy policy);

/* The same for the small texts that people write (configurations, thresholds, manifests) and for
 * run files: at most FILE_TEXT_BYTES, whatever the suffix and the policy allow, because a parsed
 * text takes many times its size; and no NUL byte, behind which nothing would be read. */
#define FILE_TEXT_BYTES ((uint64_t)16 << 20)
struct status file_read_text(char **text, size_t *bytes, const char *path,
                             struct file_policy policy);

/* A file in memory, read-only. Stays valid when the file is closed. An empty file maps as
 * bytes == 0 with a valid pointer. The rules of opening keep strangers from shrinking a mapped
 * file; when its owner does, touching what is gone raises SIGBUS, which main() words. */
struct file_map {
    const void *data;
    size_t bytes;
};
struct status file_map(struct file_map *out, const struct file *file);
void file_unmap(struct file_map *map);

/* Bytes from..to of the map will not be needed soon: their pages may go. (They count as memory
 * of the process otherwise, and come back from the file when they are touched again.) */
void file_map_forget(const struct file_map *map, size_t from, size_t to);

/* ---- writing ---------------------------------------------------------------------------- */

/* Create a file that must not exist (nor a link of that name), mode 0640, for writing.
 * STATUS_BAD_ARGUMENT when it exists: file_already_exists tells that from other failures. */
struct status file_create(struct file *out, const char *path);
bool file_already_exists(struct status status);

/* Open an existing file for reading and writing, with the checks of file_open_read but that of the
 * size, which a file of ours may have outgrown; writes go to the end (O_APPEND). */
struct status file_open_append(struct file *out, const char *path, struct file_policy policy);

/* Open an existing file of ours once more, for file_write_at alone: what is written goes to the disk without a copy in the
 * page cache, and must be whole blocks of FILE_BLOCK_BYTES from memory and to an offset that are multiples of
 * that. Fails where the file system cannot do this. */
enum { FILE_BLOCK_BYTES = 4096 };
struct status file_open_direct(struct file *out, const char *path);

/* Write all bytes at the file's position (at its end with file_open_append). On failure part of
 * them may have been written. */
struct status file_write_all(const struct file *file, const void *data, size_t bytes);

/* Write over bytes from `offset` on; where file_write_all goes on does not change. */
struct status file_write_at(const struct file *file, const void *data, size_t bytes,
                            uint64_t offset);

/* Append what `from` has from `offset` on to `to`. */
struct status file_append_from(const struct file *to, const struct file *from, uint64_t offset);

struct status file_sync(const struct file *file);

/* Make a file and its name durable, whoever has written it. */
struct status file_sync_named(const char *path);

/* Have what is written begin to go to the disk, so that a later file_sync finds less to wait for. */
void file_begin_sync(const struct file *file);

/* Cut or extend to `bytes`, and go on writing at the new end. */
struct status file_truncate(const struct file *file, uint64_t bytes);

/* Close; the error of a delayed write shows here. Closing FILE_NONE is OK. The file is closed
 * and its path freed also when this fails. */
struct status file_close(struct file *file);

/* Take the exclusive lock of the file, which lasts until it is closed. Does not wait:
 * STATUS_BAD_ARGUMENT with a text that says another run uses it; file_is_locked tells. A file system
 * without locks keeps nobody away. */
struct status file_lock(const struct file *file);
bool file_is_locked(struct status status);

/* Take a shared lock, which other readers may hold too, until file_unlock or closing. Does not
 * wait: STATUS_BAD_INPUT when somebody who writes the file holds the exclusive one. */
struct status file_lock_shared(const struct file *file);
void file_unlock(const struct file *file);

/* Replace `to` by `from`, atomically, and make the names durable (both directories synced). */
struct status file_rename(const char *from, const char *to);

/* The same without making the names durable. */
struct status file_rename_only(const char *from, const char *to);

struct status file_remove(const char *path);

/* Remove an empty directory. */
struct status file_remove_directory(const char *path);

/* Make the names in a directory durable. */
struct status file_sync_directory(const char *path);

/* Make everything durable that was written to the file system of a directory: for many files at once. */
struct status file_sync_system(const char *directory);

/* Create a directory and its missing parents with mode 0750; at most 16 of them. It is OK when
 * it exists, as a directory. */
struct status file_make_directories(const char *path);

/* ---- names ------------------------------------------------------------------------------ */

/* The path as messages show it: all of it, or "..." and its last 180 bytes. */
struct file_shown_name {
    char text[256];
};
struct file_shown_name file_shown(const char *path);

/* Is there anything of that name (a dangling link counts)? */
bool file_exists(const char *path);

/* What the bytes of a file must be less than, by its suffix: 10 GiB for .json .jsonl .npy .pt .zip .log .db, 1 GiB for .csv
 * .xlsx .yaml .ir .pkl, 1 MiB for any other. */
uint64_t file_size_limit(const char *path);

/* The checks of a name alone: not empty, at most 4096 bytes, base name at most 255, no control
 * characters. */
struct status file_check_name(const char *path);

/* ---- test hook -------------------------------------------------------------------------- */

enum file_operation {
    FILE_OPEN, /* also of directories */
    FILE_STAT,
    FILE_READ,
    FILE_MAP,
    FILE_CREATE,
    FILE_WRITE,
    FILE_SYNC,
    FILE_TRUNCATE,
    FILE_CLOSE,
    FILE_LOCK,
    FILE_RENAME,
    FILE_REMOVE,
    FILE_MAKE_DIRECTORY,
    FILE_OPERATIONS
};

/* Called before every system call of the functions above. Returns 0 to go on, an errno to make
 * the call fail with it, or FILE_SHORT to make a read or write transfer a single byte (other
 * operations go on). Set only while no other thread uses files; NULL (the default) for none. */
enum { FILE_SHORT = -1 };
extern int (*file_fault)(enum file_operation operation, const char *path);

#endif
