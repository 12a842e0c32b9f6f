import type { GradingSandboxes } from '../grading/grading-sandboxes.ts';
import { exportSubmission } from '../grading/export-submission.ts';
import { describeGradingTemplate } from '../grading/grading-template.ts';
import { layWorkdir } from '../grading/lay-workdir.ts';
import type { Submission } from '../grading/submission.ts';
import type { TaskStep } from '../tasks/task.ts';
import type { Verdict } from '../verification/verdict.ts';
import { restoreWorkspace, type WorkspaceEntry } from '../workspace/workspace-snapshots.ts';
import { type Acted, enterStep, type OpenWorkspace } from './acted/acted.ts';
import { WorkspaceChanges } from './acted/workspace-changes.ts';
import type { OpenStep } from '../grading/make-submission.ts';

/** The results of a step's work in the workspace. */
type Acts = Omit<Acted, 'submission' | 'rest'>;

export interface StepsTerms {
  readonly act: (open: OpenStep, workspace: OpenWorkspace, signal: AbortSignal) => Promise<Acts>;
  readonly judge: (step: TaskStep, submission: Submission, signal: AbortSignal) => Promise<Verdict>;
  /** Directories of the workspace besides those of the task. They are empty in each step. */
  readonly own: readonly string[];
  /** Whether the changes of each action are recorded. */
  readonly showsChanges: boolean;
}

export interface PlayedStep {
  readonly step: TaskStep;
  readonly acted: Acted;
  /** It is undefined when there was nothing to grade, as in `Acted`. */
  readonly verdict: Verdict | undefined;
}

/** The workspace that a step leaves to the next one, or why there can be no next one because of the agent. */
type Left = { readonly entries: readonly WorkspaceEntry[]; readonly problem?: undefined } | { readonly problem: string };

const NOTHING_DONE: Acts = { actions: 0, stopReason: 'script-ended', course: undefined };

/**
 * Plays the steps of a task in order. Each has a workspace with the files that the previous one left, and is graded when that workspace is gone: so
 * no step holds a sandbox while it waits for another. The task ends with a step whose reward is below the required one.
 *
 * @throws InputError when a sandbox cannot be made as the task declares it; InfrastructureError; the signal's reason.
 */
export async function playSteps(
  open: Omit<OpenStep, 'step'>,
  terms: StepsTerms,
  sandboxes: GradingSandboxes,
  signal: AbortSignal,
): Promise<readonly PlayedStep[]> {
  const played: PlayedStep[] = [];
  let left: Left | undefined;
  for (const step of open.task.steps) {
    const done = await playStep({ ...open, step }, left, terms, sandboxes, signal);
    left = done.left;
    const { submission } = done.acted;
    const verdict = submission && (await terms.judge(step, submission, signal));
    played.push({ step, acted: done.acted, verdict });
    if (verdict === undefined || verdict.reward === null || verdict.reward < step.leastReward) break;
  }
  return played;
}

async function playStep(
  open: OpenStep,
  before: Left | undefined,
  { act, own, showsChanges }: StepsTerms,
  sandboxes: GradingSandboxes,
  signal: AbortSignal,
): Promise<{ readonly acted: Acted; readonly left: Left }> {
  if (before?.problem !== undefined) return fail(before.problem);
  const { task, step } = open;
  const template = describeGradingTemplate(task, { artifacts: task.steps.flatMap(({ artifacts }) => artifacts) }, own);
  await using sandbox = await sandboxes.open(template, signal);
  const { session } = sandbox;
  const either = AbortSignal.any([signal, sandbox.signal]);
  const kept = ['/tmp', ...template.writable].filter((directory) => !own.includes(directory));
  const hasNext = step !== task.steps.at(-1);
  const changes = new WorkspaceChanges(session, kept, { isKept: hasNext, isShown: showsChanges });
  await changes.beginEmpty(either);
  const brought = before === undefined ? await layWorkdir(session, open, { sandboxes }, either) : before.entries;
  if (before !== undefined) {
    const restored = await restoreWorkspace(session, before.entries, either);
    if (restored.kind === 'refused') return fail(`${restored.refusal.path}: ${restored.refusal.detail}`);
  }
  const problem = await enterStep(session, open, either);
  if (problem !== undefined) return fail(problem);
  await changes.begin(brought, either);
  const acts = await act(open, { session, changes }, either);
  if (acts.stopReason === 'out-of-memory' || acts.refusal !== undefined)
    return { acted: { ...acts, submission: undefined }, left: { entries: [] } };
  const rest = await changes.rest(either);
  const submission = await exportSubmission(session, step.artifacts, either);
  return { acted: { ...acts, rest, submission }, left: hasNext ? await readLeft(changes, either) : { entries: [] } };
}

async function readLeft(changes: WorkspaceChanges, signal: AbortSignal): Promise<Left> {
  const all = await changes.readAll(signal);
  if (all.kind === 'given') return { entries: all.result.entries };
  const { path, detail } = all.refusal;
  return { problem: `the step before has left what cannot be kept: ${path}: ${detail}` };
}

function fail(problem: string): { readonly acted: Acted; readonly left: Left } {
  return { acted: { ...NOTHING_DONE, submission: { files: [], problem } }, left: { problem } };
}
