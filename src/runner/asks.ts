import type { RunnerFrame } from './frames.ts';

/**
 * Questions to a runner, each of which it answers once. When the asker gives up, the runner still owes the answer: it is busy until the
 * answer comes, and the answer is expected.
 */
export class Asks {
  readonly #owed = new Map<string, PromiseWithResolvers<RunnerFrame>>();

  get owed(): number {
    return this.#owed.size;
  }

  ask(key: string): Promise<RunnerFrame> {
    const answer = Promise.withResolvers<RunnerFrame>();
    // The asker may have given up before the rejection.
    answer.promise.catch(() => undefined);
    this.#owed.set(key, answer);
    return answer.promise;
  }

  /** @returns whether it was owed. */
  answer(key: string, frame: RunnerFrame): boolean {
    const answer = this.#owed.get(key);
    this.#owed.delete(key);
    answer?.resolve(frame);
    return answer !== undefined;
  }

  /** Removes a question that was never sent. */
  withdraw(key: string): void {
    this.#owed.delete(key);
  }

  fail(error: Error): void {
    for (const answer of this.#owed.values()) answer.reject(error);
    this.#owed.clear();
  }
}
