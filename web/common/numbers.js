// Numbers as people read them. Cells hold 21 significant bits, so six digits are all there is.

export function count_text(n) {
    return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

export function number_text(value, digits = 4) {
    if (value === "inf" || value === Infinity) return "∞";
    if (value === "-inf" || value === -Infinity) return "−∞";
    if (value === "nan" || typeof value !== "number" || Number.isNaN(value)) return "NaN";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e7) return count_text(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
    const rounded = Number(value.toPrecision(digits));
    return size >= 1000 && Number.isInteger(rounded) ? count_text(rounded) : String(rounded);
}

export function seconds_text(seconds) {
    if (seconds >= 100) return `${Math.round(seconds)} s`;
    if (seconds >= 1) return `${Number(seconds.toPrecision(3))} s`;
    if (seconds >= 1e-3) return `${Number((1e3 * seconds).toPrecision(3))} ms`;
    return `${Number((1e6 * seconds).toPrecision(3))} µs`;
}

export function share_text(part, whole) {
    if (!whole) return "";
    const percent = 100 * part / whole;
    if (percent > 0 && percent < 0.1) return "< 0.1 %";
    return `${percent >= 99.95 && percent < 100 ? "99.9" : Number(percent.toFixed(1))} %`;
}

// A number typed by a person: "1e-3", "inf"; NaN for anything else, and for nothing.
export function number_of_text(text) {
    const trimmed = text.trim().replace("−", "-").toLowerCase();
    if (trimmed === "inf" || trimmed === "∞") return Infinity;
    if (trimmed === "-inf") return -Infinity;
    return trimmed === "" ? NaN : Number(trimmed);
}
