const LINE_FEED = 0x0a;
const MAX_PARTS = 32;

/**
 * Cuts a byte stream into lines, holding at most `maxBytes` of an unfinished one. After a line that is too long it
 * reports once and takes nothing more: what follows cannot be trusted to start at a line's beginning.
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
    // A line that drips in byte by byte must not cost a buffer a byte.
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
