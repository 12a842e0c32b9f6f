const LINE_FEED = 0x0a;
const MAX_PARTS = 32;

/**
 * Splits a byte stream into lines, and holds at most `maxBytes` of an unfinished one. Reports a line that is too long once and ignores
 * everything after it: what follows need not begin at a line's beginning.
 */
export class FrameReader {
  #parts: Buffer[] = [];
  #held = 0;
  #stopped = false;
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onOversized: () => void;

  constructor(maxBytes: number, onLine: (line: string) => void, onOversized: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onOversized = onOversized;
  }

  push(chunk: Buffer): void {
    let start = 0;
    while (!this.#stopped) {
      const end = chunk.indexOf(LINE_FEED, start);
      const length = (end === -1 ? chunk.length : end) - start;
      if (this.#held + length > this.#maxBytes) return this.#stopOversized();
      if (end === -1) return this.#hold(chunk, start);
      this.#onLine(this.#finish(chunk, start, end));
      start = end + 1;
    }
  }

  #hold(chunk: Buffer, start: number): void {
    if (start === chunk.length) return;
    this.#parts.push(start === 0 ? chunk : chunk.subarray(start));
    this.#held += chunk.length - start;
    // A line that arrives byte by byte must not need a buffer for each byte.
    if (this.#parts.length > MAX_PARTS) this.#parts = [Buffer.concat(this.#parts)];
  }

  #finish(chunk: Buffer, start: number, end: number): string {
    if (this.#held === 0) return chunk.toString('utf8', start, end);
    const line = Buffer.concat([...this.#parts, chunk.subarray(start, end)]).toString('utf8');
    this.#parts = [];
    this.#held = 0;
    return line;
  }

  #stopOversized(): void {
    this.#stopped = true;
    this.#parts = [];
    this.#onOversized();
  }
}
