import { playSteps, type StepsTerms } from '../../agents/acting/play-steps.ts';
import { applySubmission, SOLUTION } from '../../agents/grading/make-submission.ts';
import { explainVerdict, judgeTrial, listPassedAtFirst, type Soundness, type Trial } from '../../agents/grading/soundness.ts';
import { omitMeasurements } from '../../agents/verification/verdict.ts';
import { combineRewards } from '../../agents/tasks/task-reward.ts';
import type { KnownSubmission } from '../../agents/tasks/task.ts';
import type { OpenTask, TakenVerdict, TaskGrader } from './task-grader.ts';
import type { Submission } from '../../agents/grading/submission.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';

/** How one submission is graded. */
export interface TrialTerms {
  /** The number of times that it is graded. */
  readonly times: number;
  /** Seed of every verdict; drawn for each when left out. */
  readonly seed?: string | undefined;
  readonly onVerdict?: (trial: string, verdict: TakenVerdict) => void;
  /** Verdicts of the task's other submissions. */
  readonly equals?: EqualSubmissions;
}

export interface CheckTerms {
  /** The number of times that each submission is graded. */
  readonly times: number;
  readonly seed?: string | undefined;
  /** @param at position of the trial. */
  readonly onVerdict?: (trial: string, verdict: TakenVerdict, at: number) => void;
  /** Returns the stored verdicts of a submission, or grades it now. */
  readonly keep?: (candidate: Candidate, grade: () => Promise<Trial>) => Promise<Trial>;
}

/** A submission that the task includes; undefined: doing nothing. */
export type Candidate = Pick<Trial, 'name' | 'role' | 'expected'> & { readonly known: KnownSubmission | undefined };

/**
 * Whether a task is sound: its own solution and the honest twins score 1, and doing nothing and every cheat score 0, the same each time.
 *
 * @throws InputError when the task cannot be graded; the signal's reason.
 */
export async function checkTask(grader: TaskGrader, open: OpenTask, terms: CheckTerms, signal: AbortSignal): Promise<Soundness> {
  const { task } = open;
  const candidates = listCandidates(open);
  const trials: Trial[] = [];
  const queue = candidates.entries();
  const equals = new EqualSubmissions();
  const work = async (): Promise<void> => {
    for (const [at, candidate] of queue) {
      const trialTerms: TrialTerms = { ...terms, equals, onVerdict: (...verdict) => terms.onVerdict?.(...verdict, at) };
      const grade = (): Promise<Trial> => tryCandidate(grader, open, candidate, trialTerms, signal);
      trials[at] = await (terms.keep?.(candidate, grade) ?? grade());
    }
  };
  await Promise.all(Array.from({ length: grader.concurrency }, work));
  const isSound = task.oracle !== undefined && trials.every(({ finding }) => finding === 'as-expected');
  return { task: task.id, digest: task.digest, isSound, trials, notices: [...task.notices] };
}

function listCandidates({ task: { oracle, cheats, twins } }: OpenTask): readonly Candidate[] {
  return [
    ...(oracle ? [{ name: oracle.name, role: 'oracle', expected: 1, known: oracle } as const] : []),
    { name: 'nop', role: 'nop', expected: 0, known: undefined },
    ...cheats.map((known) => ({ name: known.name, role: 'cheat', expected: 0, known }) as const),
    ...twins.map((known) => ({ name: known.name, role: 'twin', expected: 1, known }) as const),
  ];
}

/** Grades one of the task's submissions `times` times, step by step. @throws InputError when the task cannot be graded; the signal's reason. */
export async function tryCandidate(
  grader: TaskGrader,
  open: OpenTask,
  { known, ...candidate }: Candidate,
  { times, seed, onVerdict, equals = new EqualSubmissions() }: TrialTerms,
  signal: AbortSignal,
): Promise<Trial> {
  const { steps } = open.task;
  const name = `${candidate.role} ${candidate.name}`;
  const judge =
    (time: number): StepsTerms['judge'] =>
    async (step, submission, until) => {
      const taken = await equals.grade(submission, step.name, time, () => grader.grade(open, step, submission, { seed }, until));
      onVerdict?.(steps.length === 1 ? name : `${name}, step ${step.name}`, taken);
      return taken.verdict;
    };
  const terms: Omit<StepsTerms, 'judge'> = {
    own: [SOLUTION],
    showsChanges: false,
    act: async (step, { session }, until) => {
      if (known) await applySubmission(session, step, known, until);
      return { actions: 0, stopReason: 'script-ended', course: undefined };
    },
  };
  const rewards: (number | null)[] = [];
  const distinct = new Set<string>();
  let detail = '';
  for (let time = 0; time < times; time += 1) {
    const played = await playSteps(open, { ...terms, judge: judge(time) }, grader.getSandboxes(open), signal);
    const verdicts = played.flatMap(({ step, verdict }) => (verdict ? [{ step: step.name, verdict }] : []));
    const reward = combineRewards(
      open.task,
      verdicts.map(({ verdict }) => verdict.reward),
    );
    rewards.push(reward);
    const early = known === undefined ? played.flatMap(({ step, verdict }) => (verdict ? listPassedAtFirst(step, verdict) : [])) : [];
    if (early.length > 0) return { ...candidate, rewards, finding: 'wrong', detail: explainEarly(early) };
    distinct.add(JSON.stringify(verdicts.map(({ verdict }) => omitMeasurements(verdict))));
    if (detail !== '' || reward === candidate.expected) continue;
    const odd = verdicts.find(({ verdict }) => verdict.reward !== candidate.expected);
    if (odd) detail = `${steps.length === 1 ? '' : `step ${odd.step}: `}${explainVerdict(odd.verdict, candidate.expected)}`;
  }
  const finding = judgeTrial(candidate.expected, rewards);
  if (seed === undefined || distinct.size < 2 || finding !== 'as-expected') return { ...candidate, rewards, finding, detail };
  const unsteady = `the same seed gave ${distinct.size} different verdicts, measured figures aside`;
  return { ...candidate, rewards, finding: 'flaky', detail: unsteady };
}

/** They say nothing of a submission, and a weak one would need fewer of the others. */
function explainEarly([first = '', ...others]: readonly string[]): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `execute: ${first}${more} of failToPass: passes before anything is done; put it into passToPass`;
}

/**
 * Verdicts of one check of a task. Submissions with equal bytes share one verdict in each repetition: a cheat that finds nothing leaves what doing
 * nothing leaves. Each repetition takes verdicts of its own.
 */
class EqualSubmissions {
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
