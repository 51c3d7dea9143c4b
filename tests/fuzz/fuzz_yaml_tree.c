/* YAML texts of any bytes: what is accepted can be walked within the limits, its keys are
 * found, and its nodes lie in the text. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "formats/yaml_tree.h"

struct walk {
    size_t nodes, depth;
    size_t lines;
};

static void visit(struct walk *walk, const struct yaml_node *node, size_t depth)
{
    int64_t integer;
    assert(++walk->nodes <= YAML_MAX_NODES && depth <= YAML_MAX_DEPTH);
    assert(node->line >= 1 && node->column >= 1 && node->line <= walk->lines);
    if (depth > walk->depth) walk->depth = depth;
    if (node->kind == YAML_SCALAR) {
        assert(strlen(node->text) == node->length && !node->count);
        assert(!(yaml_is_null(node) && yaml_integer(&integer, node)));
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_pair *pair = node->kind == YAML_MAPPING ? &node->pairs[i] : NULL;
        if (pair) {
            visit(walk, pair->key, depth + 1);
            assert(yaml_member(node, pair->key->text) == pair->value);
        }
        visit(walk, pair ? pair->value : node->items[i], depth + 1);
    }
}

/* Line ends as YAML 1.1 counts them, and one more line behind the last. */
static size_t count_lines(const uint8_t *data, size_t size)
{
    size_t lines = 2;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 ||
                 data[i] == 0xa9;
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct yaml_document document;

    struct status status = yaml_parse(&document, &arena, "x.yaml", (const char *)data, size);
    if (!status.code) {
        struct walk walk = { .lines = count_lines(data, size) };
        /* Walks of more than some ten thousand nodes only take time. */
        if (document.root->nodes < 50000) {
            visit(&walk, document.root, 1);
            assert(walk.nodes == document.root->nodes && walk.depth == document.root->height);
        }
    } else assert(status.text[0]);
    arena_release(&arena);
    return 0;
}
