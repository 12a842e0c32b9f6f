import type { Submission } from '../../agents/grading/submission.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import type { TakenVerdict } from './task-grader.ts';

/**
 * Verdicts of one check of a task. Submissions with equal bytes share one verdict in each repetition: a cheat that finds nothing leaves what doing
 * nothing leaves. Each repetition takes verdicts of its own.
 */
export class EqualSubmissions {
  readonly #taken = new Map<string, Promise<TakenVerdict>>();

  /** @param repetition its number. @param grade takes a verdict when there is none yet. */
  async grade(submission: Submission, step: string, repetition: number, grade: () => Promise<TakenVerdict>): Promise<TakenVerdict> {
    const { files, whole, problem } = submission;
    const key = JSON.stringify([repetition, step, digestFiles(new Map(files.map((file) => [file.path, file]))), whole, problem]);
    const taking = this.#taken.get(key) ?? grade();
    this.#taken.set(key, taking);
    return await taking;
  }
}
