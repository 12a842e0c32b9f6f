import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../kernel/clock.ts';
import type { ServerEvent } from './dialect.ts';

/** A client that receives nothing for some time gives up. */
const SIGN_OF_LIFE_MS = 15_000;

/** An answer as server-sent events. It begins with its first event, or when the model lets a program wait. */
export class EventStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #timer: Disposable;

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    this.#timer = clock.after(SIGN_OF_LIFE_MS, () => this.#giveSign());
  }

  get isBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Writes no faster than the program reads. @throws the signal's reason. */
  async end(events: Iterable<ServerEvent>, signal: AbortSignal): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#begin();
    for (const { event, data } of events) {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      if (!this.#response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`))
        await once(this.#response, 'drain', { signal });
    }
    this.#response.end();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #giveSign(): void {
    this.#begin();
    this.#response.write(': the model is thinking\n\n');
    this.#timer = this.#clock.after(SIGN_OF_LIFE_MS, () => this.#giveSign());
  }

  #begin(): void {
    if (this.isBegun) return;
    this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  }
}
