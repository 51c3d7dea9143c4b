// Long work in turns, so that the page stays alive meanwhile.

const turn_ms = 24;

export class Pause {
    constructor() {
        this.since = performance.now();
    }

    // To be awaited now and then: lets the page have its turn when it is due.
    rest() {
        if (performance.now() - this.since < turn_ms) return null;
        return new Promise((resume) => setTimeout(resume)).then(() => { this.since = performance.now(); });
    }
}
