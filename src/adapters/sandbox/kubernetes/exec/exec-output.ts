import { Readable } from 'node:stream';

/** One output stream of a program behind a shared connection. It reports when it is full. */
export class ExecOutput extends Readable {
  readonly #onWanted: () => void;
  #isDraining = false;

  /** @param onWanted called when there is room again. */
  constructor(onWanted: () => void) {
    super();
    this.#onWanted = onWanted;
  }

  /** Takes bytes. @returns whether more may come at once. Bytes for a closed reader are discarded, so that it blocks no other stream. */
  accept(bytes: Buffer): boolean {
    return this.destroyed || this.push(bytes) || this.#isDraining;
  }

  /** Ends the stream. */
  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  /** Accepts everything from now on, whether it is read or not. */
  drain(): void {
    this.#isDraining = true;
    this.#onWanted();
  }

  override _read(): void {
    this.#onWanted();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#onWanted();
    callback(error);
  }
}
