// What the server says, once a second, and what this page remembers of it.

const poll_ms = 1000;
const hidden_ms = 10000;
const kept_points = 600;
const answer_ms = 8000;

export class Live {
    constructor() {
        this.facts = null;
        this.answered_ms = 0; // by performance.now(); 0: never
        this.history = []; // { at, rate, lag }
        this.listeners = [];
    }

    on_change(listener) {
        this.listeners.push(listener);
    }

    tell() {
        for (const listener of this.listeners) listener(this);
    }

    // Seconds without an answer, when that is worth a word.
    silence() {
        const seconds = (performance.now() - this.answered_ms) / 1000;
        return seconds > 4 ? seconds : 0;
    }

    state() {
        if (this.facts?.over) return "over";
        if (this.silence()) return "lost";
        return this.facts?.trouble ? "trouble" : "running";
    }

    take(facts) {
        this.facts = facts;
        this.answered_ms = performance.now();
        this.history.push({ at: facts.running_s, rate: facts.rate, lag: facts.lag_s });
        if (this.history.length > kept_points) this.history.shift();
    }

    async poll() {
        try {
            const answer = await fetch("live.json", { cache: "no-store", signal: AbortSignal.timeout(answer_ms) });
            if (answer.ok) this.take(await answer.json());
        } catch {
            // The silence is told.
        }
        this.tell();
        if (!this.facts?.over) setTimeout(() => this.poll(), document.hidden ? hidden_ms : poll_ms);
    }

    dropped() {
        return this.facts.clients.reduce((sum, client) => sum + client.dropped, 0);
    }

    queued() {
        return this.facts.clients.reduce((sum, client) => sum + client.queued, 0);
    }
}

// "1.2 GB" of a number of bytes.
export function bytes_text(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (bytes >= 1000 && unit < units.length - 1) {
        bytes /= 1000;
        unit++;
    }
    return `${unit ? Number(bytes.toPrecision(3)) : bytes} ${units[unit]}`;
}

// "3:07:12" or "41 s".
export function span_text(seconds) {
    const whole = Math.floor(seconds), two = (n) => String(n).padStart(2, "0");
    if (whole < 60) return `${whole} s`;
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return `${minutes}:${two(whole % 60)} min`;
    return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)} h`;
}
