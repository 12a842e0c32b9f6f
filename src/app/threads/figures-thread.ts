import {
  computeDistributionFigures,
  type DistributionFigures,
  type DistributionQuestion,
} from '../../aggregation/results/distribution-figures.ts';
import {
  computeProbabilityOfImprovement,
  type ImprovementQuestion,
  type ProbabilityOfImprovement,
} from '../../aggregation/resampling/probability-of-improvement.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withTimeout } from '../../kernel/deadline.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import { Thread } from '../../kernel/thread.ts';
import type { FiguresAnswer, FiguresOrder, FiguresQuestion, FiguresResult } from './figures-worker.ts';
import { resolveBeside } from '../../kernel/package-root.ts';

/** Figures of fewer values take some milliseconds: sending them would take longer. */
const FEW_VALUES = 500;
/** The limit for candidate and baseline together. It is lower, as a comparison may have many candidates. */
const FEW_PAIRED_VALUES = 100;
/** A million values take a second or two of a processor; this allows for a busy machine. */
const ANSWER_MILLISECONDS = 600_000;

interface Waiting {
  readonly resolve: (result: FiguresResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Computes the figures of large evaluations and comparisons in a thread, so that a server keeps answering meanwhile. It starts with the first
 * question, keeps no process alive, and is replaced at the next question when it has died. Part of the composition root.
 */
export class FiguresThread implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Thread | undefined;
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws InfrastructureError `figures.failed` when the thread ends before it has answered. */
  readonly workOut = async (question: DistributionQuestion): Promise<DistributionFigures> => {
    if (question.values.length <= FEW_VALUES) return computeDistributionFigures(question);
    const result = await this.#ask({ kind: 'distribution', question }, [question.values.buffer, question.tasks.buffer]);
    if (result.kind !== 'distribution') throw createFailedError(getProblem(result));
    return result.figures;
  };

  /** @throws as `workOut` does. */
  readonly workOutImprovement = async (question: ImprovementQuestion): Promise<ProbabilityOfImprovement | undefined> => {
    const { tasks, confidence, seed } = question;
    const values = tasks.reduce((sum, { candidate, baseline }) => sum + candidate.length + baseline.length, 0);
    if (values <= FEW_PAIRED_VALUES) return computeProbabilityOfImprovement(tasks, confidence, seed);
    const buffers = tasks.flatMap(({ candidate, baseline }) => [candidate.buffer, baseline.buffer]);
    const result = await this.#ask({ kind: 'improvement', question }, buffers);
    if (result.kind !== 'improvement') throw createFailedError(getProblem(result));
    return result.figures;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    this.#onEnded(thread, 'it has been closed');
    await thread.terminate();
  }

  /** @param buffers of the question: they are transferred to the thread. */
  async #ask(asked: FiguresQuestion, buffers: ArrayBuffer[]): Promise<FiguresResult> {
    const id = (this.#lastId += 1);
    const { promise, resolve, reject } = Promise.withResolvers<FiguresResult>();
    this.#waiting.set(id, { resolve, reject });
    const order: FiguresOrder = { id, ...asked };
    const thread = (this.#thread ??= this.#begin());
    thread.ref();
    thread.postMessage(order, buffers);
    try {
      return await withTimeout(this.#clock, ANSWER_MILLISECONDS, promise, () =>
        createFailedError(`no answer within ${ANSWER_MILLISECONDS / 1000} s`),
      );
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#thread?.unref();
    }
  }

  #begin(): Thread {
    const thread = new Thread(resolveBeside(import.meta.url, 'figures-worker'));
    thread.on('message', ({ id, result }: FiguresAnswer) => this.#waiting.get(id)?.resolve(result));
    thread.on('error', (error) => this.#onEnded(thread, getMessage(error)));
    thread.on('exit', () => this.#onEnded(thread, 'its thread has ended'));
    return thread;
  }

  #onEnded(thread: Thread, why: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    for (const { reject } of this.#waiting.values()) reject(createFailedError(why));
  }
}

function createFailedError(why: string): InfrastructureError {
  return new InfrastructureError(
    'figures.failed',
    `the figures of an evaluation could not be computed: ${why}; its episodes are stored, try again`,
  );
}

function getProblem(result: FiguresResult): string {
  return result.kind === 'failed' ? result.problem : `it answered another question, about ${result.kind}`;
}
