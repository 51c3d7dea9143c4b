// Elements of the page. Everything that comes from a result file enters the document here, as text:
// children that are not elements become text nodes, and nothing else in web/ writes markup.

// element("button", { class: "chip", onclick: open }, "3 errors") and the like. Attributes that begin
// with "on" are listeners, "style" is an object of properties; null and false leave an attribute or a
// child out.
export function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else if (name === "style") for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
        else node.setAttribute(name, value === true ? "" : String(value));
    }
    append(node, children);
    return node;
}

export function append(node, children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return node;
}

export function replace(node, ...children) {
    node.replaceChildren();
    return append(node, children);
}

// A text that may break behind dots and underscores, where long names of APIs should.
export function breakable(text) {
    const node = element("span", { class: "breakable" });
    for (const part of String(text).split(/(?<=[._/])/)) {
        if (node.childNodes.length) node.append(document.createElement("wbr"));
        node.append(document.createTextNode(part));
    }
    return node;
}
