import { Watch, type KubeConfig } from '@kubernetes/client-node';
import { z } from 'zod';
import { sleep, type Clock } from '../../../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../../kernel/errors.ts';
import { computeBackoffMs } from '../../../../pool/planning/backoff.ts';
import type { Listing } from './listing.ts';
import type { ObjectKind, WatchedView } from './object-kind.ts';

/** Receives an object as it is now, or undefined when it is gone. */
export type Listener<View> = (object: View | undefined) => void;

/** The longest time that a broken stream of events can hide a change. Each check costs one request for every 500 objects. */
const RECONCILE_MS = 60_000;
const GONE = 410;

const statusSchema = z.object({ code: z.number().optional(), message: z.string().default('') });
const markSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const failureSchema = z.object({ statusCode: z.number() });

export interface WatchOptions<View extends WatchedView> extends Pick<ObjectKind<View, unknown>, 'path' | 'parse' | 'list'> {
  readonly config: KubeConfig;
  readonly labelSelector: string;
  readonly clock: Clock;
  /** Reports problems; the watch recovers by itself. */
  readonly log: (message: string) => void;
  /** Called after every complete list. */
  readonly onList?: (objects: readonly View[]) => void;
}

/**
 * What is known about the objects of one kind with some labels, kept up to date by a list and the events after it.
 *
 *      listing ── all of it ─▶ watching ── connection ends ──▶ watching from the last event
 *         ▲                       │
 *         └── 410, time to look ──┘        any error: a pause that grows, then the same again
 *
 * The client's own informer ends for good on any error but 410 and silence, so it is not used; its `Watch` is, which closes a connection after 30 s
 * of silence.
 */
export class ObjectWatch<View extends WatchedView> implements AsyncDisposable {
  readonly #options: WatchOptions<View>;
  readonly #watch: Watch;
  readonly #listeners = new Map<string, Listener<View>>();
  /** The followed objects that exist. */
  readonly #present = new Set<string>();
  readonly #closing = new AbortController();
  #version: string | undefined;
  #listedAt = -Infinity;
  #lastMessageAt = -Infinity;
  #running: Promise<void> | undefined;
  #looking: Promise<unknown> | undefined;

  constructor(options: WatchOptions<View>) {
    this.#options = options;
    this.#watch = new Watch(options.config);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Lists all objects, once for all callers that wait meanwhile, unless an event came within `quietMs`. */
  async look(quietMs: number): Promise<void> {
    if (this.#options.clock.now() - this.#lastMessageAt < quietMs) return;
    this.#looking ??= this.#learnAll().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  /** Tells of every change from now on. One listener an object. */
  follow(name: string, listener: Listener<View>): Disposable {
    this.#listeners.set(name, listener);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(name);
        this.#present.delete(name);
      },
    };
  }

  /** Records a state that was learnt elsewhere. */
  learn(name: string, object: View | undefined): void {
    const listener = this.#listeners.get(name);
    if (object === undefined) this.#present.delete(name);
    else if (listener) this.#present.add(name);
    listener?.(object);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, log, path } = this.#options;
    let failures = 0;
    while (!this.#closing.signal.aborted) {
      try {
        const version = this.#version ?? (await this.#list());
        await this.#followEvents(version);
        failures = 0;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        if (getCode(error) === GONE) this.#version = undefined;
        else failures += 1;
        if (failures > 1) log(`watching ${path} failed ${failures} times in a row: ${getMessage(error)}`);
        await sleep(clock, computeBackoffMs(failures), this.#closing.signal).catch(() => undefined);
      }
    }
  }

  async #list(): Promise<string> {
    const { onList, clock } = this.#options;
    const { items, resourceVersion } = await this.#learnAll();
    this.#listedAt = clock.now();
    this.#version = resourceVersion;
    onList?.(items);
    return resourceVersion;
  }

  async #learnAll(): Promise<Listing<View>> {
    const { list, labelSelector, clock } = this.#options;
    const listing = await list(labelSelector, this.#closing.signal);
    this.#lastMessageAt = clock.now();
    const listed = new Set(listing.items.map(({ metadata }) => metadata.name));
    for (const name of this.#present) if (!listed.has(name)) this.learn(name, undefined);
    for (const object of listing.items) this.learn(object.metadata.name, object);
    return listing;
  }

  /** Resolves when the connection has ended by itself, or it is time to list again. */
  async #followEvents(version: string): Promise<void> {
    const { path, labelSelector, clock } = this.#options;
    const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
    const query = { labelSelector, resourceVersion: version, allowWatchBookmarks: true };
    const finish = (error: unknown): void => (isEnd(error) ? resolve() : reject(error));
    const onEvent = (phase: string, object: unknown): void => this.#onEvent(phase, object, reject);
    const connecting = this.#watch.watch(path, query, onEvent, finish);
    const stop = (): void => void connecting.then((connection) => connection.abort(), reject);
    using _look = clock.after(this.#listedAt + RECONCILE_MS - clock.now(), () => {
      this.#version = undefined;
      resolve();
    });
    const onClosing = (): void => resolve();
    this.#closing.signal.addEventListener('abort', onClosing, { once: true });
    connecting.catch(reject);
    try {
      await ended;
    } finally {
      this.#closing.signal.removeEventListener('abort', onClosing);
      stop();
    }
  }

  /** Never throws: the client would swallow it. */
  #onEvent(phase: string, object: unknown, fail: (error: unknown) => void): void {
    this.#lastMessageAt = this.#options.clock.now();
    try {
      switch (phase) {
        case 'ERROR':
          return fail(toRefusal(object));
        case 'BOOKMARK':
          this.#version = markSchema.parse(object).metadata.resourceVersion;
          return;
        default:
          return this.#onObject(phase, this.#options.parse(object));
      }
    } catch (error) {
      // A malformed event does not show what was missed with it.
      this.#version = undefined;
      fail(error);
    }
  }

  #onObject(phase: string, object: View): void {
    this.learn(object.metadata.name, phase === 'DELETED' ? undefined : object);
    if (this.#version !== undefined) this.#version = object.metadata.resourceVersion;
  }
}

class WatchRefusedError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

function toRefusal(object: unknown): WatchRefusedError {
  const { code = 500, message } = statusSchema.parse(object);
  return new WatchRefusedError(code, message);
}

function getCode(error: unknown): number | undefined {
  return failureSchema.safeParse(error).data?.statusCode;
}

/** Tells whether the connection ended regularly, or because of Muster or the client's timer. */
function isEnd(error: unknown): boolean {
  return (
    error === null || error === undefined || (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
  );
}
