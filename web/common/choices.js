// What the reader chose on earlier pages; browsers may refuse storage to files.

export function remembered(key) {
    try {
        return localStorage.getItem(`probe-ut ${key}`);
    } catch {
        return null;
    }
}

export function remember(key, value) {
    try {
        localStorage.setItem(`probe-ut ${key}`, value);
    } catch {
        // The choice lasts as long as the page then.
    }
}
