import { makeSubmission } from '../../agents/grading/make-submission.ts';
import { explainVerdict, judgeTrial, type Soundness, type Trial } from '../../agents/grading/soundness.ts';
import type { KnownSubmission, TaskStep } from '../../agents/tasks/task.ts';
import { InputError } from '../../kernel/errors.ts';
import type { OpenTask, TakenVerdict, TaskGrader } from './task-grader.ts';

/** Of one submission. */
export interface TrialTerms {
  /** How often it is graded. */
  readonly times: number;
  /** Of every verdict; drawn for each where this is left out. */
  readonly seed?: string;
  readonly onVerdict?: (trial: string, verdict: TakenVerdict) => void;
}

export interface CheckTerms {
  /** How often each submission is graded. */
  readonly times: number;
  readonly seed?: string;
  /** @param at position of the trial. */
  readonly onVerdict?: (trial: string, verdict: TakenVerdict, at: number) => void;
}

/** A submission that the task brings along; undefined: nothing is done. */
export type Candidate = Pick<Trial, 'name' | 'role' | 'expected'> & { readonly known: KnownSubmission | undefined };

/**
 * Whether a task is sound: its own solution scores 1 and so do the honest twins, and nothing done and every cheat score 0, the same each time.
 *
 * @throws InputError when the task cannot be graded; the signal's reason.
 */
export async function checkTask(grader: TaskGrader, open: OpenTask, terms: CheckTerms, signal: AbortSignal): Promise<Soundness> {
  const { task } = open;
  getSingleStep(open);
  const candidates = listCandidates(open);
  const trials: Trial[] = [];
  const queue = candidates.entries();
  const work = async (): Promise<void> => {
    for (const [at, candidate] of queue)
      trials[at] = await tryCandidate(
        grader,
        open,
        candidate,
        { ...terms, onVerdict: (...told) => terms.onVerdict?.(...told, at) },
        signal,
      );
  };
  await Promise.all(Array.from({ length: grader.concurrency }, work));
  const isSound = task.oracle !== undefined && trials.every(({ finding }) => finding === 'as-expected');
  return { task: task.id, digest: task.digest, isSound, trials, notices: [...task.notices] };
}

/** @throws InputError `task.steps` for a task with several. */
export function getSingleStep({ task }: OpenTask): TaskStep {
  const [step, ...others] = task.steps;
  if (others.length === 0) return step;
  throw new InputError(
    'task.steps',
    `task ${task.id} has ${task.steps.length} steps; expected one: steps are checked one by one, as tasks of their own`,
  );
}

function listCandidates({ task: { oracle, cheats, twins } }: OpenTask): readonly Candidate[] {
  return [
    ...(oracle ? [{ name: oracle.name, role: 'oracle', expected: 1, known: oracle } as const] : []),
    { name: 'nop', role: 'nop', expected: 0, known: undefined },
    ...cheats.map((known) => ({ name: known.name, role: 'cheat', expected: 0, known }) as const),
    ...twins.map((known) => ({ name: known.name, role: 'twin', expected: 1, known }) as const),
  ];
}

/** Grades one of the task's submissions so many times. @throws InputError when the task cannot be graded; the signal's reason. */
export async function tryCandidate(
  grader: TaskGrader,
  open: OpenTask,
  { known, ...candidate }: Candidate,
  { times, seed, onVerdict }: TrialTerms,
  signal: AbortSignal,
): Promise<Trial> {
  const step = getSingleStep(open);
  const verdicts: TakenVerdict[] = [];
  for (let time = 0; time < times; time += 1) {
    const submission = await makeSubmission(open.task, step, open.content, known, { sandboxes: grader.sandboxesOf(open) }, signal);
    const taken = await grader.grade(open, step, submission, { seed }, signal);
    verdicts.push(taken);
    onVerdict?.(`${candidate.role} ${candidate.name}`, taken);
  }
  const rewards = verdicts.map(({ verdict }) => verdict.reward);
  const odd = verdicts.find(({ verdict }) => verdict.reward !== candidate.expected)?.verdict;
  const detail = odd === undefined ? '' : explainVerdict(odd, candidate.expected);
  return { ...candidate, rewards, finding: judgeTrial(candidate.expected, rewards), detail };
}
