import { InputError } from '../../kernel/errors.ts';
import type { KnownSubmission, Task, TaskStep } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { joinStreams, SHOWN_OUTPUT } from './endings.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { exportSubmission } from './export-submission.ts';
import type { TaskContent } from './grading-context.ts';
import { describeGradingTemplate } from './grading-template.ts';
import type { GradingSandboxes } from './grading-sandboxes.ts';
import { layWorkdir } from './lay-workdir.ts';
import type { Submission } from './submission.ts';

export const SOLUTION = '/solution';
/** The limit when the task sets none. */
const SCRIPT_SECONDS = 600;

/** A step of a task with the task's files, as an agent meets it. */
export interface OpenStep {
  readonly task: Task;
  readonly step: TaskStep;
  readonly content: TaskContent;
}

/**
 * Makes one of the task's own submissions, in a workspace of its own.
 *
 * @throws InputError `task.solution` when its script cannot be carried out; InfrastructureError; the signal's reason.
 */
export async function makeSubmission(
  open: OpenStep,
  known: KnownSubmission,
  sandboxes: GradingSandboxes,
  signal: AbortSignal,
): Promise<Submission> {
  await using sandbox = await sandboxes.open(describeGradingTemplate(open.task, open.step, [SOLUTION]), signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  await layWorkdir(sandbox.session, open, { sandboxes }, either);
  await applySubmission(sandbox.session, open, known, either);
  return await exportSubmission(sandbox.session, open.step.artifacts, either);
}

/**
 * Carries out one of the task's own submissions in a workspace: files over the workdir, or a script, which gets the directory SOLUTION.
 *
 * @throws InputError `task.solution` when its script cannot be carried out.
 */
export async function applySubmission(
  session: WorkspaceSession,
  { task, step, content }: OpenStep,
  known: KnownSubmission,
  signal: AbortSignal,
): Promise<void> {
  const { workdir, environment } = task.workspace;
  const own = findPlace(task, step, known);
  await session.put(await readFiles(task, content, own.directory, own.kind === 'script' ? SOLUTION : workdir), signal);
  if (own.kind === 'files') return;
  const run = {
    argv: ['/bin/bash', '-c', `(${SOLUTION}/solve.sh) 2>&1`],
    directory: workdir,
    environment: cleanEnvironment(environment, known.environment),
    seconds: step.agent.timeoutSeconds ?? SCRIPT_SECONDS,
    output: SHOWN_OUTPUT,
  };
  const result = await session.run(run, signal);
  // A failing script may have done its work, which the verdict shows. One that cannot be started says nothing about the task.
  const script = `${own.directory}/solve.sh`;
  const { end } = result;
  if (end.kind === 'unstartable')
    throw new InputError('task.solution', `${script}: ${end.detail}; the root file system needs /bin/bash for it, as Harbor does`);
  if (end.kind === 'out-of-memory')
    throw new InputError('task.solution', `${script}: it failed (${end.kind}): ${joinStreams(result).slice(-500)}`);
}

/** A step may have a solution of its own; otherwise that of the task is used in each step. */
function findPlace({ files }: Task, { directory }: TaskStep, known: KnownSubmission): Pick<KnownSubmission, 'directory' | 'kind'> {
  const own = `${directory}${known.directory}`;
  if (own === known.directory || !files.some(({ path }) => path.startsWith(`${own}/`))) return known;
  return { directory: own, kind: files.some(({ path }) => path === `${own}/solve.sh`) ? 'script' : 'files' };
}

async function readFiles({ files }: Task, content: TaskContent, directory: string, target: string): Promise<readonly WorkspaceFile[]> {
  const own = files.filter(({ path }) => path.startsWith(`${directory}/`));
  return await Promise.all(
    own.map(async ({ path, isExecutable }) => ({
      path: `${target}${path.slice(directory.length)}`,
      content: await content.read(path),
      executable: isExecutable || path.endsWith('/solve.sh'),
    })),
  );
}
