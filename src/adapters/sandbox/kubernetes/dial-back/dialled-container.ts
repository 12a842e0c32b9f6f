import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { raceWithAbort } from '../../../../kernel/abort.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import type { DialChannel } from './dial-channel.ts';

const TOKEN_BYTES = 32;

/**
 * Muster's state of one container that dials. One token is valid for it at a time, and only once. With its order, a connection gets the token of the
 * next connection, where one will follow: so one connection always waits for a command.
 */
export class DialledContainer implements Disposable {
  /** The token of its first connection. It travels with the pod; the tokens of further connections travel within connections. */
  readonly firstToken = createToken();
  readonly #name: string;
  readonly #firstDigest = hashToken(this.firstToken);
  readonly #isForOne: boolean;
  readonly #takers: ((channel: DialChannel) => void)[] = [];
  readonly #over = new AbortController();
  #expected: Buffer | undefined = this.#firstDigest;
  #waiting: DialChannel | undefined;

  /** @param isForOne whether it runs one command only. */
  constructor(name: string, isForOne: boolean) {
    this.#name = name;
    this.#isForOne = isForOne;
  }

  /** `spent`: it is the first one, and was presented before. A token is never admitted twice. */
  admit(token: string): 'admitted' | 'spent' | 'unknown' {
    const digest = hashToken(token);
    if (this.#expected && timingSafeEqual(digest, this.#expected)) {
      this.#expected = undefined;
      return 'admitted';
    }
    return timingSafeEqual(digest, this.#firstDigest) ? 'spent' : 'unknown';
  }

  /** Takes a connection that was admitted. */
  arrive(channel: DialChannel): void {
    if (this.#over.signal.aborted) return channel.terminate();
    const taker = this.#takers.shift();
    if (taker) return taker(channel);
    this.#waiting = channel;
    void this.#watch(channel);
  }

  /**
   * Runs a command on the waiting connection, or on the next one.
   *
   * @throws InfrastructureError `kubernetes.dial-back` when none will come.
   */
  async start(command: readonly string[], signal: AbortSignal): Promise<DialChannel> {
    const channel = this.#takeWaiting() ?? (await this.#waitForChannel(AbortSignal.any([signal, this.#over.signal])));
    const next = this.#isForOne ? undefined : createToken();
    this.#expected = next === undefined ? undefined : hashToken(next);
    channel.start(command, next);
    try {
      await raceWithAbort(channel.begun, signal);
    } catch (error) {
      // The token of the next connection is in the order: a dialler that lost it could not come again.
      void channel.begun.then(() => channel.terminate());
      throw error;
    }
    return channel;
  }

  [Symbol.dispose](): void {
    this.#end('its sandbox has ended');
  }

  /** A dialler whose connection breaks while nothing runs there has no token to come again with. */
  async #watch(channel: DialChannel): Promise<void> {
    const end = await channel.ended;
    if (this.#waiting === channel) this.#end(end.kind === 'dropped' ? end.detail : 'its dialler went away');
  }

  #takeWaiting(): DialChannel | undefined {
    const channel = this.#waiting;
    this.#waiting = undefined;
    return channel;
  }

  async #waitForChannel(signal: AbortSignal): Promise<DialChannel> {
    const { promise, resolve } = Promise.withResolvers<DialChannel>();
    this.#takers.push(resolve);
    try {
      return await raceWithAbort(promise, signal);
    } finally {
      const at = this.#takers.indexOf(resolve);
      if (at >= 0) this.#takers.splice(at, 1);
    }
  }

  #end(why: string): void {
    this.#expected = undefined;
    this.#over.abort(new InfrastructureError('kubernetes.dial-back', `no connection of the container "${this.#name}" is left: ${why}`));
    this.#takeWaiting()?.terminate();
  }
}

function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Hashes a token. All hashes have the same length, so that every comparison takes the same time. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
