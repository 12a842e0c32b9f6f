import { InputError } from '../../kernel/errors.ts';
import type { KnownSubmission, Task, TaskStep } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import { joinStreams, SHOWN_OUTPUT } from './endings.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { exportSubmission } from './export-submission.ts';
import type { GradingContext, TaskContent } from './grading-context.ts';
import { describeGradingPlace } from './grading-place.ts';
import { layWorkdir } from './lay-workdir.ts';
import type { Submission } from './submission.ts';

const SOLUTION = '/solution';
/** Where the task says nothing of it. */
const SCRIPT_SECONDS = 600;

/**
 * What one of the task's own submissions leaves behind, in a workspace of its own.
 *
 * @param known undefined: nothing is done.
 * @throws InputError `task.solution` when its script fails.
 */
export async function makeSubmission(
  task: Task,
  step: TaskStep,
  content: TaskContent,
  known: KnownSubmission | undefined,
  { sandboxes }: Pick<GradingContext, 'sandboxes'>,
  signal: AbortSignal,
): Promise<Submission> {
  const { workdir, environment } = task.workspace;
  await using sandbox = await sandboxes.open(describeGradingPlace(task, step, [SOLUTION]), signal);
  const { session } = sandbox;
  const either = AbortSignal.any([signal, sandbox.signal]);
  await layWorkdir(session, { task, content }, { sandboxes }, either);
  if (known) await session.put(await readFiles(task, content, known, known.kind === 'script' ? SOLUTION : workdir), either);
  if (known?.kind === 'script') {
    const run = {
      argv: ['/bin/bash', '-c', `(${SOLUTION}/solve.sh) 2>&1`],
      directory: workdir,
      environment: cleanEnvironment(environment, known.environment),
      seconds: step.agent.timeoutSeconds ?? SCRIPT_SECONDS,
      output: SHOWN_OUTPUT,
    };
    const result = await session.run(run, either);
    // A script that breaks off may have done what it was to do: the verdict says. One that cannot be started says nothing of the task.
    if (result.end.kind === 'unstartable' || result.end.kind === 'out-of-memory')
      throw new InputError(
        'task.solution',
        `${known.directory}/solve.sh: it was not carried out (${result.end.kind}): ${joinStreams(result).slice(-500)}`,
      );
  }
  return await exportSubmission(session, step.artifacts, either);
}

async function readFiles(
  { files }: Task,
  content: TaskContent,
  { directory }: KnownSubmission,
  target: string,
): Promise<readonly WorkspaceFile[]> {
  const own = files.filter(({ path }) => path.startsWith(`${directory}/`));
  return await Promise.all(
    own.map(async ({ path, isExecutable }) => ({
      path: `${target}${path.slice(directory.length)}`,
      content: await content.read(path),
      executable: isExecutable || path.endsWith('/solve.sh'),
    })),
  );
}
