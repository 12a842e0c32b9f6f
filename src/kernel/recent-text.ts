/** The last `limit` characters of a text that is written piece by piece, in constant memory. */
export class RecentText {
  #text = '';
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  append(piece: string): void {
    this.#text = (this.#text + piece).slice(-this.#limit);
  }

  /** @returns the text so far, and clears it. */
  take(): string {
    // A copy: a slice would keep the whole original string in memory.
    const text = Buffer.from(this.#text).toString();
    this.#text = '';
    return text;
  }
}
