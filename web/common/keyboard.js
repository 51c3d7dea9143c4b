// Keys of the page: a table of { key, label, run }. They rest while somebody types.

const typing = "input, textarea, select";
let bindings = [];

export function keyboard_start(table) {
    bindings = table;
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const in_text = event.target instanceof Element && event.target.matches(typing);
        const binding = bindings.find((row) => row.key === event.key);
        if (!binding || (in_text && event.key !== "Escape")) return;
        if (binding.run(event) !== false) event.preventDefault();
    });
}

export function keyboard_table() {
    return bindings;
}
