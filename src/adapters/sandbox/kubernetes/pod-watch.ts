import { Watch } from '@kubernetes/client-node';
import { z } from 'zod';
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, messageOf } from '../../../kernel/errors.ts';
import { backoffMs } from '../../../pool/backoff.ts';
import type { Cluster, PodPage } from './cluster.ts';
import { parsePod, type PodView } from './pod-view.ts';

/** How a pod looks now; undefined when it is gone. */
export type PodListener = (pod: PodView | undefined) => void;

/** What a broken stream of events can hide at most. Each look costs one request for every 500 pods. */
const RECONCILE_MS = 60_000;
const GONE = 410;

const statusSchema = z.object({ code: z.number().optional(), message: z.string().default('') });
const markSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const failureSchema = z.object({ statusCode: z.number() });

export interface PodWatchOptions {
  readonly cluster: Cluster;
  readonly labelSelector: string;
  readonly clock: Clock;
  /** Told what goes wrong. It mends itself. */
  readonly log: (message: string) => void;
  /** Told after every complete look at all pods. */
  readonly onList: (pods: readonly PodView[]) => void;
}

/**
 * What is known of one owner's pods, kept true by a list and the events after it.
 *
 *     listing ── all pods ──▶ watching ── connection ends ──▶ watching from the last event
 *        ▲                       │
 *        └── 410, time to look ──┘        any error: a pause that grows, then the same again
 *
 * The client's own informer ends for good on any error but 410 and silence, so it is not used; its `Watch` is, which gives up a
 * connection after 30 s of silence.
 */
export class PodWatch implements AsyncDisposable {
  readonly #options: PodWatchOptions;
  readonly #watch: Watch;
  readonly #pods = new Map<string, PodView>();
  readonly #listeners = new Map<string, PodListener>();
  readonly #closing = new AbortController();
  #version: string | undefined;
  #listedAt = -Infinity;
  #heardAt = -Infinity;
  #running: Promise<void> | undefined;
  #looking: Promise<unknown> | undefined;

  constructor(options: PodWatchOptions) {
    this.#options = options;
    this.#watch = new Watch(options.cluster.config);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  get pods(): ReadonlyMap<string, PodView> {
    return this.#pods;
  }

  /** Looks at all pods once for everybody who asks meanwhile, unless something was heard of some of them within `quietMs`. */
  async look(quietMs: number): Promise<void> {
    if (this.#options.clock.now() - this.#heardAt < quietMs) return;
    this.#looking ??= this.#learnAll().finally(() => (this.#looking = undefined));
    await this.#looking;
  }

  /** Tells of every change from now on. One listener a pod. */
  follow(name: string, listener: PodListener): Disposable {
    this.#listeners.set(name, listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(name) };
  }

  /** Takes note of what somebody else has found out. */
  learn(name: string, pod: PodView | undefined): void {
    if (pod === undefined) this.#pods.delete(name);
    else if (this.#listeners.has(name)) this.#pods.set(name, pod);
    this.#listeners.get(name)?.(pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed'));
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    let failures = 0;
    while (!this.#closing.signal.aborted) {
      try {
        const version = this.#version ?? (await this.#list());
        await this.#events(version);
        failures = 0;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        if (codeOf(error) === GONE) this.#version = undefined;
        else failures += 1;
        if (failures > 1) log(`watching pods failed ${failures} times in a row: ${messageOf(error)}`);
        await sleep(clock, backoffMs(failures), this.#closing.signal).catch(() => undefined);
      }
    }
  }

  async #list(): Promise<string> {
    const { onList, clock } = this.#options;
    const page = await this.#learnAll();
    this.#listedAt = clock.now();
    this.#version = page.resourceVersion;
    onList(page.pods);
    return page.resourceVersion;
  }

  async #learnAll(): Promise<PodPage> {
    const { cluster, labelSelector, clock } = this.#options;
    const page = await cluster.pods(labelSelector, this.#closing.signal);
    this.#heardAt = clock.now();
    const present = new Set(page.pods.map(({ metadata }) => metadata.name));
    for (const name of this.#pods.keys()) if (!present.has(name)) this.learn(name, undefined);
    for (const pod of page.pods) this.learn(pod.metadata.name, pod);
    return page;
  }

  /** Resolves when the connection has ended by itself, or it is time to list again. */
  async #events(version: string): Promise<void> {
    const { cluster, labelSelector, clock } = this.#options;
    const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
    const query = { labelSelector, resourceVersion: version, allowWatchBookmarks: true };
    const done = (error: unknown): void => (isEnd(error) ? resolve() : reject(error));
    const onEvent = (phase: string, object: unknown): void => this.#onEvent(phase, object, reject);
    const connecting = this.#watch.watch(cluster.podsPath, query, onEvent, done);
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
    this.#heardAt = this.#options.clock.now();
    try {
      switch (phase) {
        case 'ERROR':
          return fail(refusal(object));
        case 'BOOKMARK':
          this.#version = markSchema.parse(object).metadata.resourceVersion;
          return;
        default:
          return this.#onPod(phase, parsePod(object));
      }
    } catch (error) {
      // An event that makes no sense says nothing about what was missed with it.
      this.#version = undefined;
      fail(error);
    }
  }

  #onPod(phase: string, pod: PodView): void {
    this.learn(pod.metadata.name, phase === 'DELETED' ? undefined : pod);
    if (this.#version !== undefined) this.#version = pod.metadata.resourceVersion;
  }
}

class WatchRefusedError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

function refusal(object: unknown): WatchRefusedError {
  const { code = 500, message } = statusSchema.parse(object);
  return new WatchRefusedError(code, message);
}

function codeOf(error: unknown): number | undefined {
  return failureSchema.safeParse(error).data?.statusCode;
}

/** The connection's regular end, or one that Muster or the client's timer made. */
function isEnd(error: unknown): boolean {
  return (
    error === null || error === undefined || (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
  );
}
