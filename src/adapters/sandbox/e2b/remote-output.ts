import { Readable } from 'node:stream';

/** The bytes of unread output that are kept here, as many as a pipe holds. More output waits in the sandbox. */
const HELD_BYTES = 65_536;

/** One output stream of a program in a sandbox, filled piece by piece. */
export class RemoteOutput extends Readable {
  #room: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor() {
    super({ highWaterMark: HELD_BYTES });
  }

  /** @returns what to wait for before the next piece, so that the program waits for its reader. */
  offer(text: string): Promise<void> | undefined {
    if (this.#isOver || this.destroyed || this.push(Buffer.from(text, 'utf8'))) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Ends the output. Waiting writers continue. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.push(null);
    this.#makeRoom();
  }

  override _read(): void {
    this.#makeRoom();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#makeRoom();
    callback(error);
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
