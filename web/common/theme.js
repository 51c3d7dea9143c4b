// Light and dark: the system's choice until the reader makes one.

import { remember, remembered } from "./choices.js";

const theme_listeners = [];
const prefers_dark = () => matchMedia("(prefers-color-scheme: dark)");

export function theme_start() {
    apply_theme(remembered("theme") ?? (prefers_dark().matches ? "dark" : "light"));
    prefers_dark().addEventListener("change", (event) => {
        if (!remembered("theme")) apply_theme(event.matches ? "dark" : "light");
    });
}

function apply_theme(theme) {
    document.documentElement.dataset.theme = theme;
    for (const listener of theme_listeners) listener();
}

export function theme_toggle() {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remember("theme", theme);
    apply_theme(theme);
}

export function on_theme(listener) {
    theme_listeners.push(listener);
}

// The value of a custom property of common.css, for what is not drawn by CSS.
export function theme_color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
