import { once } from 'node:events';
import { MessageChannel, Worker, type MessagePort, type ResourceLimits } from 'node:worker_threads';
import { systemClock, type Clock } from './clock.ts';
import { resolveBeside } from './package-root.ts';

/** Evaluating the modules takes a tenth of a second, and some seconds on a machine that is busy with other work. */
const EVALUATION_MILLISECONDS = 60_000;

export interface ThreadOptions {
  /** The thread finds a structured clone of it in its `workerData`, as `ThreadData.data`. */
  readonly data?: unknown;
  readonly resourceLimits?: ResourceLimits;
  /** Of Node; those of the process when left out. */
  readonly execArgv?: string[];
  readonly clock?: Clock;
}

/** `workerData` in a `Thread`. */
export interface ThreadData<Data = unknown> {
  readonly data: Data;
  /** The URL of the thread's own module. */
  readonly module: string;
  /** Closed by the thread when its module has been evaluated, and by Node when the thread ends before that. */
  readonly evaluating: MessagePort;
}

/**
 * A worker thread that is terminated only after its modules have been evaluated. V8 ends the whole process when a thread is terminated earlier: while it
 * evaluates modules that import, directly or not, one with an `await` at its top level.
 *
 * A thread's own module has to be evaluated soon: it listens, or begins work without awaiting it.
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

  /** Waits until the thread's module has been evaluated, a minute at most. Resolves to the thread's exit code when it has ended. */
  override async terminate(): Promise<number> {
    const late = Promise.withResolvers<void>();
    using _timer = this.#clock.after(EVALUATION_MILLISECONDS, late.resolve);
    await Promise.race([this.#evaluated, late.promise]);
    return await super.terminate();
  }
}
