// A button that copies a text and says that it did. A page opened from disk has no permission for the
// clipboard interface in some browsers; selecting and copying works there.

import { element } from "./elements.js";
import { words } from "./language.js";

export async function copy_text(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = element("textarea", { class: "offscreen", readonly: true });
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    }
}

export function copy_button(text) {
    const button = element("button", { class: "small", type: "button" }, words("copy"));
    button.addEventListener("click", async () => {
        button.textContent = words(await copy_text(text) ? "copied" : "copy failed");
        setTimeout(() => { button.textContent = words("copy"); }, 1500);
    });
    return button;
}
