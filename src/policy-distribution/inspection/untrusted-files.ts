import PQueue from 'p-queue';
import { systemClock, type Clock } from '../../kernel/clock.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { ThreadOrder, ThreadReply } from './reading-messages.ts';
import { MalformedDelta } from '../delta/delta-format.ts';
import { readHere, type Answer, type Order, type ReadingKind } from './readings.ts';
import type { ReadAt } from '../formats/read-at.ts';
import { resolveBeside } from '../../kernel/package-root.ts';
import { Thread } from '../../kernel/thread.ts';
import { hasErrno } from '../../kernel/errno.ts';

/** A reader that requests more of a file runs in a thread. */
const MOST_HERE_BYTES = 2 ** 20;
/** The thread's own time, without that of the file's source. A file within all bounds takes a second or two. */
const DEADLINE_MILLISECONDS = 60_000;
/** One at a time, so that many large files take no more memory than one. */
const MOST_THREADS = 1;
/**
 * A file within the bounds takes a quarter of it. This limit alone does not protect: V8 checks it too late while it parses, and may end the process
 * then. Protection comes from readers that measure before they parse.
 */
const HEAP = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 64 };

/**
 * Reads untrusted files. Readers that need up to a megabyte of a file run here; others run in a thread, one at a time, with a time limit. So no file
 * can block the event loop.
 */
export class UntrustedFiles {
  readonly #clock: Clock;
  readonly #threads = new PQueue({ concurrency: MOST_THREADS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param readAt its errors pass through.
   * @throws what the reader does: InputErrors; and InputError `checkpoint.bounds` when it takes too long.
   */
  async read<Kind extends ReadingKind>(kind: Kind, order: Order<Kind>, readAt: ReadAt): Promise<Answer<Kind>> {
    const meter = new Meter(readAt);
    try {
      return await readHere(kind, order, meter.readAt, meter.take);
    } catch (error) {
      if (!meter.isBeyond) throw error;
    }
    return this.#threads.add(() => this.#readInThread(order.address, { kind, order }, readAt));
  }

  async #readInThread<Kind extends ReadingKind>(file: string, data: ThreadOrder<Kind>, readAt: ReadAt): Promise<Answer<Kind>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer<Kind>>();
    using deadline = new WorkingTime(this.#clock, () => reject(createTimeoutError(file)));
    const thread = new Thread(resolveBeside(import.meta.url, 'reading-thread'), { data, resourceLimits: HEAP });
    const answer = async (position: number, length: number): Promise<void> => {
      deadline.pause();
      // A copy: what a source lends is not given away.
      const bytes = new Uint8Array(await readAt(position, length));
      deadline.resume();
      thread.postMessage(bytes, [bytes.buffer]);
    };
    thread.on('message', (reply: ThreadReply<Kind>) => {
      switch (reply.says) {
        case 'wants':
          return void answer(reply.position, reply.length).catch(reject);
        case 'read':
          return resolve(reply.answer);
        case 'refused':
          return reject(new InputError(reply.code, reply.message));
        case 'malformed':
          return reject(new MalformedDelta(reply.problem));
        case 'failed':
          return reject(new Error(reply.message));
      }
    });
    thread.on('error', (error) => reject(isOutOfMemory(error) ? createOutOfMemoryError(file) : createFailedError(file, getMessage(error))));
    thread.on('exit', () => reject(createFailedError(file, 'its thread has ended')));
    try {
      return await promise;
    } finally {
      await thread.terminate();
    }
  }
}

/** One for the process: it bounds the memory of all threads together. */
export const untrustedFiles = new UntrustedFiles(systemClock);

/** Counts what a reader takes of a file and unpacks, and stops it beyond the bound. */
class Meter {
  isBeyond = false;
  readonly readAt: ReadAt;
  #left = MOST_HERE_BYTES;

  constructor(readAt: ReadAt) {
    this.readAt = async (position, length) => {
      // Refused without reading.
      if (length > this.#left) this.take(length);
      const bytes = await readAt(position, length);
      this.take(bytes.length);
      return bytes;
    };
  }

  readonly take = (bytes: number): void => {
    this.#left -= bytes;
    this.isBeyond ||= this.#left < 0;
    if (this.isBeyond) throw new Error('more than is read here');
  };
}

/** A deadline that is paused while the thread waits for the file. */
class WorkingTime implements Disposable {
  readonly #clock: Clock;
  readonly #onPassed: () => void;
  #leftMs = DEADLINE_MILLISECONDS;
  #beganMs = 0;
  #timer: Disposable | undefined;
  #isOver = false;

  constructor(clock: Clock, onPassed: () => void) {
    [this.#clock, this.#onPassed] = [clock, onPassed];
    this.resume();
  }

  pause(): void {
    this.#leftMs -= this.#clock.now() - this.#beganMs;
    this.#timer?.[Symbol.dispose]();
  }

  /** Does nothing once it is disposed: the file may arrive after the last waiter has gone. */
  resume(): void {
    if (this.#isOver) return;
    this.#beganMs = this.#clock.now();
    this.#timer = this.#clock.after(this.#leftMs, this.#onPassed);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
  }
}

function createTimeoutError(file: string): InputError {
  const seconds = DEADLINE_MILLISECONDS / 1000;
  const message = `checkpoint: ${file}: what it holds was not read within ${seconds} s; expected what is read in a few; is it a checkpoint? Write it with fewer entries, or in several files`;
  return new InputError('checkpoint.bounds', message);
}

function createOutOfMemoryError(file: string): InputError {
  const message = `checkpoint: ${file}: what it holds takes more than ${HEAP.maxOldGenerationSizeMb} MiB of memory to read; expected a quarter of that; is it a checkpoint? Write it with fewer entries, or in several files`;
  return new InputError('checkpoint.bounds', message);
}

function isOutOfMemory(error: unknown): boolean {
  return hasErrno(error, 'ERR_WORKER_OUT_OF_MEMORY');
}

function createFailedError(file: string, why: string): InfrastructureError {
  return new InfrastructureError('reader.failed', `the thread that reads ${file} ended: ${why}; evaluate it again`);
}
