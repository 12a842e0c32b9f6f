import type { Submission } from '../../agents/grading/submission.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import type { TakenVerdict } from './task-grader.ts';

/**
 * Verdicts of one check of a task. Submissions that are the same bytes share one in each repetition: a cheat that finds nothing leaves what doing
 * nothing leaves. Each repetition still takes its own.
 */
export class EqualSubmissions {
  readonly #taken = new Map<string, Promise<TakenVerdict>>();

  /** @param repetition number of it. @param grade takes a verdict, where there is none yet. */
  async grade(submission: Submission, step: string, repetition: number, grade: () => Promise<TakenVerdict>): Promise<TakenVerdict> {
    const { files, whole, problem } = submission;
    const key = JSON.stringify([repetition, step, digestFiles(new Map(files.map((file) => [file.path, file]))), whole, problem]);
    const taking = this.#taken.get(key) ?? grade();
    this.#taken.set(key, taking);
    return await taking;
  }
}
