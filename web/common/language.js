// Two languages: a table of words has [English, Chinese] for every key. The browser's language
// decides until the reader does.

import { remember, remembered } from "./choices.js";

let language_table = new Map();
let language = 0;
const language_listeners = [];
export const language_codes = ["en", "zh"];

export function language_start(table) {
    language_table = new Map(Object.entries(table));
    const wanted = remembered("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
    language = Math.max(0, language_codes.indexOf(wanted));
    document.documentElement.lang = language_codes[language];
}

export function language_code() {
    return language_codes[language];
}

export function language_toggle() {
    language = 1 - language;
    document.documentElement.lang = language_codes[language];
    remember("language", language_codes[language]);
    for (const listener of language_listeners) listener();
}

export function on_language(listener) {
    language_listeners.push(listener);
}

// The text of a key with {name} replaced by values.name. A key without a text is itself one: it is a
// word of the data, such as the name of a metric that is not known here.
export function words(key, values = {}) {
    const entry = language_table.get(key);
    const text = entry ? entry[language] : key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => Object.hasOwn(values, name) ? String(values[name]) : whole);
}

export function has_words(key) {
    return language_table.has(key);
}
