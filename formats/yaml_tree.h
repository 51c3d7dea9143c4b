/* YAML texts as trees, for the small files that people write: mappings of names, lists of
 * what to collect, thresholds. The parser is libyaml (YAML 1.1); this keeps of it what such
 * files use and refuses the rest with its place.
 *
 * Accepted: one document of block or flow mappings and sequences, scalars plain, quoted or
 * in block style, comments, anchors with aliases. Scalars stay texts, whose meaning the
 * reader asks for; the tags of YAML's own types are taken and only !!str means something
 * (the text is meant as it is). Refused: tags of others (a tag may name a class to
 * construct), keys that are no scalars or are there twice, merge keys, aliases of what
 * contains them, several documents, and whatever goes beyond the limits below.
 *
 * An alias leads to the node of its anchor, so a tree is not larger than its text; but who
 * walks it meets that node again and again. The limits of depth and nodes therefore hold
 * for the tree as a walk sees it, and nine lists of nine aliases each ("billion laughs")
 * are refused.
 */
#ifndef PROBE_FORMATS_YAML_TREE_H
#define PROBE_FORMATS_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"

enum {
    YAML_MAX_BYTES = 64 << 20, /* of a text: a mapping of 400 000 names has 40 MB */
    YAML_MAX_NODES = 4 << 20,  /* scalars, sequences and mappings, those behind aliases each time */
    YAML_MAX_DEPTH = 64,
    YAML_MAX_ANCHORS = 1024
};

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct yaml_pair {
    const struct yaml_node *key; /* a scalar */
    const struct yaml_node *value;
};

struct yaml_node {
    enum yaml_kind kind;
    uint32_t line, column; /* where it begins, from 1; columns in characters */

    /* scalar: UTF-8 with a NUL behind it and none inside; "" for one that is not there
     * (`key:`) */
    const char *text;
    size_t length;
    bool quoted; /* it is a text whatever it looks like: quotes, block style or !!str */

    size_t count; /* items of a sequence, pairs of a mapping; in the order of the file */
    const struct yaml_node *const *items;
    const struct yaml_pair *pairs;
    const struct yaml_pair *const *by_key; /* the pairs sorted by the bytes of their keys */

    uint32_t height; /* levels below and including it; 0 while it is being read */
    uint32_t nodes;  /* as a walk meets them, itself included */
};

struct yaml_document {
    const char *name;             /* of the file, for messages */
    const struct yaml_node *root; /* an empty text is an empty scalar */
};

/* Parse `bytes` bytes of UTF-8 (a byte order mark may lead). Everything lives in `arena`;
 * `name` must stay. STATUS_BAD_INPUT "<name>, line 3, column 7: <what is wrong there>";
 * STATUS_NO_MEMORY. */
struct status yaml_parse(struct yaml_document *out, struct arena *arena, const char *name,
                         const char *text, size_t bytes);

/* The value of a key; NULL when the node is no mapping or has no such key. Takes O(log
 * count). */
const struct yaml_node *yaml_member(const struct yaml_node *node, const char *key);

/* Is it the empty scalar or a plain null or ~? */
bool yaml_is_null(const struct yaml_node *node);

/* The integer that a plain scalar is, in decimal notation; false, with *value untouched,
 * otherwise. */
bool yaml_integer(int64_t *value, const struct yaml_node *node);

/* What is wrong with a node, in the words of its reader: STATUS_BAD_INPUT "<name>, line 3,
 * column 7:
 * ...". */
struct status yaml_fault(const struct yaml_document *document, const struct yaml_node *node,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
