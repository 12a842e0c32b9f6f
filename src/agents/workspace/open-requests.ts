import { toError } from '../../kernel/errors.ts';
import type { Answer } from './answers.ts';
import type { AnswerFrame } from './workspace-frames.ts';

interface Pending {
  /** @returns whether that was the last of its answer. */
  take(frame: AnswerFrame): boolean;
  fail(error: Error): void;
}

export interface OpenRequest<Result> {
  readonly request: number;
  readonly answered: Promise<Result>;
}

/** The requests to one workspace that are not completely answered, by number. */
export class OpenRequests {
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  open<Result>(answer: Answer<Result>): OpenRequest<Result> {
    const request = (this.#last += 1);
    const settled = Promise.withResolvers<Result>();
    // It may be rejected while the request is still being sent.
    settled.promise.catch(() => undefined);
    const take = (frame: AnswerFrame): boolean => {
      const result = answer.take(frame);
      if (result !== undefined) settled.resolve(result);
      return result !== undefined;
    };
    this.#pending.set(request, { take, fail: settled.reject });
    return { request, answered: settled.promise };
  }

  /** @returns false when the frame answers no open request. */
  take(frame: AnswerFrame): boolean {
    const pending = this.#pending.get(frame.request);
    if (!pending) return false;
    try {
      if (pending.take(frame)) this.#pending.delete(frame.request);
    } catch (error) {
      this.#pending.delete(frame.request);
      pending.fail(toError(error));
    }
    return true;
  }

  failAll(error: Error): void {
    for (const pending of this.#pending.values()) pending.fail(error);
    this.#pending.clear();
  }
}
