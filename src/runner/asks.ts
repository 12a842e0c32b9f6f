import type { RunnerFrame } from './frames.ts';

/**
 * Questions to a runner, each of which it answers once. One whose asker has given up is still owed its answer: until that
 * has come, the runner is busy with it, and the answer is no surprise.
 */
export class Asks {
  readonly #owed = new Map<string, PromiseWithResolvers<RunnerFrame>>();

  get owed(): number {
    return this.#owed.size;
  }

  ask(key: string): Promise<RunnerFrame> {
    const answer = Promise.withResolvers<RunnerFrame>();
    // Its asker may have given up by the time that it is rejected.
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

  /** It was never sent. */
  withdraw(key: string): void {
    this.#owed.delete(key);
  }

  fail(error: Error): void {
    for (const answer of this.#owed.values()) answer.reject(error);
    this.#owed.clear();
  }
}
