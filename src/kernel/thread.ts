import { once } from 'node:events';
import { MessageChannel, Worker, type MessagePort, type ResourceLimits } from 'node:worker_threads';
import { systemClock, type Clock } from './clock.ts';
import { resolveBeside } from './package-root.ts';

/** Evaluating the modules takes a tenth of a second, and some seconds on a busy machine. */
const EVALUATION_MILLISECONDS = 60_000;

export interface ThreadOptions {
  /** The thread receives a structured clone of it as `ThreadData.data`. */
  readonly data?: unknown;
  readonly resourceLimits?: ResourceLimits;
  /** Options of Node; those of the process when left out. */
  readonly execArgv?: string[];
  readonly clock?: Clock;
}

/** `workerData` of a `Thread`. */
export interface ThreadData<Data = unknown> {
  readonly data: Data;
  /** The URL of the thread's own module. */
  readonly module: string;
  /** The thread closes it when its module has been evaluated; Node does when the thread ends before that. */
  readonly evaluating: MessagePort;
}

/**
 * A worker thread that is terminated only after its modules have been evaluated. Otherwise V8 ends the whole process when it terminates a
 * thread that is evaluating modules of which one has a top-level `await`.
 *
 * A thread's own module must evaluate quickly: it listens, or begins work without awaiting it.
 */
export class Thread extends Worker {
  readonly #evaluated: Promise<unknown>;
  readonly #clock: Clock;

  /** @param module of the thread: see `resolveBeside`. */
  constructor(module: URL, { data, resourceLimits = {}, execArgv, clock = systemClock }: ThreadOptions = {}) {
    const { port1: here, port2: evaluating } = new MessageChannel();
    const workerData: ThreadData = { data, module: module.href, evaluating };
    super(resolveBeside(import.meta.url, 'thread-start'), {
      workerData,
      transferList: [evaluating],
      resourceLimits,
      ...(execArgv && { execArgv }),
    });
    this.#evaluated = once(here, 'close');
    this.#clock = clock;
    here.unref();
  }

  /** Waits until the thread's module has been evaluated, at most a minute. Resolves to the exit code when the thread has ended. */
  override async terminate(): Promise<number> {
    const late = Promise.withResolvers<void>();
    using _timer = this.#clock.after(EVALUATION_MILLISECONDS, late.resolve);
    await Promise.race([this.#evaluated, late.promise]);
    return await super.terminate();
  }
}
