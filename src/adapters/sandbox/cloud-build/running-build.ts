import { createAbortError } from '../../../kernel/abort.ts';
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { type Build, type BuildService, describeBuild, hasEnded } from './build-service.ts';

const FIRST_PAUSE_MS = 100;
/** Cloud Build allows a project some hundred requests a minute at least, for all its builds. */
const LONGEST_PAUSE_MS = 5_000;
/** A cancelled build takes some seconds to end. */
const END_MS = 120_000;

/** One build, from the answer that named it to its end. */
export class RunningBuild {
  readonly id: string;
  readonly #service: BuildService;
  readonly #clock: Clock;
  #last: Build;

  constructor(build: Build, service: BuildService, clock: Clock) {
    this.id = build.id;
    this.#last = build;
    this.#service = service;
    this.#clock = clock;
  }

  /** Does the work while the build runs. @param work receives a signal that is aborted when the build ends. */
  async whileRunning<Result>(signal: AbortSignal, work: (either: AbortSignal) => Promise<Result>): Promise<Result> {
    const ended = new AbortController();
    const done = new AbortController();
    const watching = this.#awaitEnd(AbortSignal.any([signal, done.signal])).then(
      () => ended.abort(new InfrastructureError('cloud-build.ended', `${describeBuild(this.#last)}, and did not reach Muster before`)),
      // An abort ends the work itself; when Cloud Build does not answer, the work may still succeed.
      () => undefined,
    );
    try {
      return await work(AbortSignal.any([signal, ended.signal]));
    } finally {
      done.abort();
      await watching;
    }
  }

  /** Resolves when the build has ended. @throws InfrastructureError when it does not. */
  async end(): Promise<void> {
    const signal = AbortSignal.timeout(END_MS);
    try {
      await this.#service.cancel(this.id, signal);
      await this.#awaitEnd(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new InfrastructureError('cloud-build.not-gone', `${describeBuild(this.#last)}: it did not end in ${END_MS / 1000} s`);
    }
  }

  /** Describes its state for people; never rejects. */
  async describe(signal: AbortSignal): Promise<string> {
    this.#last = await this.#service.get(this.id, signal).catch(() => this.#last);
    return describeBuild(this.#last);
  }

  async #awaitEnd(signal: AbortSignal): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      this.#last = await this.#service.get(this.id, signal);
      if (hasEnded(this.#last)) return;
      if (signal.aborted) throw createAbortError(signal);
      await sleep(this.#clock, pause, signal);
    }
  }
}
