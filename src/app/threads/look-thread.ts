import { constants } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../kernel/clock.ts';
import type { Found, FoundStats, LookAnswer, LookKind, LookOrder } from './look-messages.ts';
import { directLooks, type DirectoryEntry, type FileLooks, type FileStats } from '../../policy-distribution/files/file-looks.ts';

/** A disk that takes longer is looked at by Node's threads, several at a time, until this one has answered. */
const ANSWER_MILLISECONDS = 500;

interface Look {
  readonly kind: LookKind;
  readonly path: string;
  /** Undefined: it has to be looked at in another way. */
  readonly resolve: (found: Found | undefined) => void;
}

interface Order {
  readonly looks: readonly Look[];
  readonly limit: Disposable;
}

/**
 * Looks at files in a thread, all at one stroke that are asked for at the same moment. A request looks at a dozen and more: each by itself costs this
 * process ten times what the look takes, and a turn behind all else that it has to do. The thread begins with the first look and keeps no process
 * alive; what it does not answer in time, or not at all, is looked at directly. Part of the composition root.
 */
export class LookThread implements FileLooks, AsyncDisposable {
  readonly #clock: Clock;
  readonly #orders = new Map<number, Order>();
  #gathered: Look[] = [];
  #thread: Worker | undefined;
  /** Orders that it owes although their time has passed. */
  readonly #late = new Set<number>();
  #lastId = 0;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async real(path: string): Promise<string> {
    const found = await this.#look('real', path);
    return found?.kind === 'real' ? found.path : directLooks.real(path);
  }

  async stats(path: string): Promise<FileStats> {
    const found = await this.#look('stats', path);
    return found?.kind === 'stats' ? new SentStats(found.stats) : directLooks.stats(path);
  }

  async ownStats(path: string): Promise<FileStats> {
    const found = await this.#look('ownStats', path);
    return found?.kind === 'stats' ? new SentStats(found.stats) : directLooks.ownStats(path);
  }

  async entries(path: string): Promise<readonly DirectoryEntry[]> {
    const found = await this.#look('entries', path);
    return found?.kind === 'entries' ? found.entries.map(([name, isFile]) => ({ name, isFile: () => isFile })) : directLooks.entries(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    this.#ended(thread);
    await thread?.terminate();
  }

  /** @throws the system's error when there was one. */
  async #look(kind: LookKind, path: string): Promise<Found | undefined> {
    if (this.#isClosed || this.#late.size > 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<Found | undefined>();
    if (this.#gathered.push({ kind, path, resolve }) === 1) process.nextTick(() => this.#send());
    const found = await promise;
    if (found?.kind === 'failed') throw Object.assign(new Error(found.message), found.code === undefined ? {} : { code: found.code });
    return found;
  }

  #send(): void {
    const looks = this.#gathered;
    this.#gathered = [];
    if (this.#isClosed) return looks.forEach(({ resolve }) => resolve(undefined));
    const id = (this.#lastId += 1);
    this.#orders.set(id, { looks, limit: this.#clock.after(ANSWER_MILLISECONDS, () => this.#pass(id)) });
    const order: LookOrder = { id, looks: looks.map(({ kind, path }) => [kind, path]) };
    this.#thread ??= this.#begin();
    this.#thread.postMessage(order);
  }

  #begin(): Worker {
    const thread = new Worker(new URL('look-worker.ts', import.meta.url));
    thread.unref();
    thread.on('message', (answer: LookAnswer) => this.#take(answer));
    thread.on('error', () => this.#ended(thread));
    thread.on('exit', () => this.#ended(thread));
    return thread;
  }

  #take({ id, found }: LookAnswer): void {
    this.#late.delete(id);
    const order = this.#orders.get(id);
    if (!order) return;
    this.#orders.delete(id);
    order.limit[Symbol.dispose]();
    for (const [at, { resolve }] of order.looks.entries()) resolve(found[at]);
  }

  #pass(id: number): void {
    const order = this.#orders.get(id);
    if (!order) return;
    this.#orders.delete(id);
    this.#late.add(id);
    for (const { resolve } of order.looks) resolve(undefined);
  }

  #ended(thread: Worker | undefined): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    for (const [id, { limit }] of this.#orders) {
      limit[Symbol.dispose]();
      this.#pass(id);
    }
    this.#late.clear();
  }
}

/** What came from the thread, as Node has it of a file. */
class SentStats implements FileStats {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly #type: number;

  constructor({ mode, dev, ino, nlink, size, mtimeNs, ctimeNs }: FoundStats) {
    this.#type = Number(mode) & constants.S_IFMT;
    this.dev = dev;
    this.ino = ino;
    this.nlink = nlink;
    this.size = size;
    this.mtimeNs = mtimeNs;
    this.ctimeNs = ctimeNs;
  }

  isFile(): boolean {
    return this.#type === constants.S_IFREG;
  }

  isDirectory(): boolean {
    return this.#type === constants.S_IFDIR;
  }

  isFIFO(): boolean {
    return this.#type === constants.S_IFIFO;
  }

  isSocket(): boolean {
    return this.#type === constants.S_IFSOCK;
  }
}
