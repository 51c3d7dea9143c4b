// The page is its modules one behind the other in one scope: every import must come from a module
// before, and no two modules may have a name in common.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "../../../web");

for (const page of ["report", "graph", "live"]) {
    const names = readFileSync(join(web, page, "modules.txt"), "utf8").trim().split("\n");

    test(`${page}: modules import from those before them`, () => {
        const seen = new Set();
        for (const name of names) {
            const text = readFileSync(join(web, name), "utf8");
            for (const [line, from] of text.matchAll(/^import [^\n]*from "([^"]+)";$/gm))
                assert.ok(seen.has(normalize(join(dirname(name), from))), `${name}: ${line}`);
            assert.equal(text.match(/^import/gm)?.length ?? 0, [...text.matchAll(/^import [^\n]*from "[^"]+";$/gm)].length, `${name}: an import in one line`);
            seen.add(name);
        }
    });

    test(`${page}: names at the top of modules are unique`, () => {
        const owner = new Map();
        for (const name of names)
            for (const [, what] of readFileSync(join(web, name), "utf8").matchAll(/^(?:export )?(?:async )?(?:function|class|const|let) (\w+)/gm)) {
                assert.equal(owner.get(what), undefined, `${what} in ${name} and ${owner.get(what)}`);
                owner.set(what, name);
            }
    });

    test(`${page}: no module writes markup`, () => {
        for (const name of names)
            assert.doesNotMatch(readFileSync(join(web, name), "utf8"), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/, name);
    });
}
