import type { Readable } from 'node:stream';
import type { Clock } from '../../kernel/clock.ts';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError, getMessage, MusterError } from '../../kernel/errors.ts';
import type { ListedFile } from '../../policy-distribution/checkpoint-source.ts';
import { createDamagedBytesError, DigestCheck, type AnnouncedDigest } from './announced-digest.ts';
import { createBrokenReadError, MOST_FRUITLESS, waitBeforeRetry } from './retries.ts';

/** A connection that is silent for this long is closed, and the file is continued over another one. */
const IDLE_MS = 60_000;

/** One connection that delivers a file. Disposing it ends it. */
export interface OpenedFile extends Disposable {
  /** Position in the file of its first byte: the requested one, or 0 when the server does not support ranges. */
  readonly from: number;
  readonly body: Readable;
  /** The digest of the whole file, whichever part arrives. */
  readonly digest: AnnouncedDigest | undefined;
  /** Whether an error of the body says that it is damaged, which some clients detect by themselves. */
  readonly isDamage?: (error: unknown) => boolean;
}

export interface ReopenableFile {
  readonly file: ListedFile;
  /** Whether what comes over the next connection is certain to be the rest of what came over the last. */
  readonly isVersioned: boolean;
  /** @throws CheckpointChangedError when it is another version by now; InfrastructureError when it may be tried again. */
  open(from: number, signal: AbortSignal): Promise<OpenedFile>;
}

/**
 * One file, over as many connections as it takes: a broken one is resumed where it broke. The bytes are checked against the server's digest of the
 * whole file.
 */
export class ResumedReading {
  readonly #source: ReopenableFile;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #received = 0;
  #check: DigestCheck | undefined;
  /** Set when bytes that were already delivered turn out to be wrong: they cannot be withdrawn, so a further connection does not help. */
  #isDamaged = false;

  /** @param from the first byte that is wanted. */
  constructor(source: ReopenableFile, clock: Clock, signal: AbortSignal, from = 0) {
    this.#received = from;
    this.#source = source;
    this.#clock = clock;
    this.#signal = signal;
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    const { file, isVersioned } = this.#source;
    for (let fruitless = 0; this.#received < file.size;) {
      const before = this.#received;
      try {
        yield* this.#readOneConnection();
        if (this.#received < file.size) throw createBrokenReadError(file.address, `it ended after ${this.#received} of ${file.size} bytes`);
      } catch (error) {
        this.#signal.throwIfAborted();
        fruitless = this.#received > before ? 0 : fruitless + 1;
        const canGoOn = !this.#isDamaged && this.#received < file.size && (this.#received === 0 || isVersioned);
        if (!(error instanceof InfrastructureError) || fruitless === MOST_FRUITLESS || !canGoOn) throw error;
        await waitBeforeRetry(this.#clock, fruitless, this.#signal);
      }
    }
    this.#check?.assertSame(file.address);
  }

  async *#readOneConnection(): AsyncGenerator<Uint8Array> {
    using opened = await this.#source.open(this.#received, this.#signal);
    if (this.#received === 0) this.#check = opened.digest && new DigestCheck(opened.digest);
    // Bytes that have arrived before are skipped.
    let passed = opened.from;
    for await (const chunk of this.#readChunks(opened)) {
      const known = Math.min(chunk.length, this.#received - passed);
      passed += chunk.length;
      if (known === chunk.length) continue;
      this.#received = passed;
      const fresh = chunk.subarray(known);
      this.#check?.update(fresh);
      yield fresh;
    }
  }

  async *#readChunks({ body, isDamage }: OpenedFile): AsyncGenerator<Uint8Array> {
    const { address } = this.#source.file;
    const createTimeoutError = (): Error => createBrokenReadError(address, `nothing came for ${IDLE_MS / 1000} s`);
    const next = async (): Promise<IteratorResult<unknown, unknown>> => {
      using idle = new Deadline(this.#clock, IDLE_MS, createTimeoutError, this.#signal);
      const onAbort = (): void => void body.destroy(idle.signal.reason);
      idle.signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await iterator.next();
      } catch (error) {
        this.#isDamaged ||= isDamage?.(error) === true;
        if (this.#isDamaged) throw createDamagedBytesError(address, getMessage(error), error);
        throw error instanceof MusterError ? error : createBrokenReadError(address, getMessage(error), error);
      } finally {
        idle.signal.removeEventListener('abort', onAbort);
      }
    };
    const iterator: AsyncIterator<unknown> = body[Symbol.asyncIterator]();
    for (let item = await next(); item.done !== true; item = await next()) if (item.value instanceof Uint8Array) yield item.value;
  }
}
