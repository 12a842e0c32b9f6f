import { cleanEnvironment } from '../../grading/clean-environment.ts';
import { readEnding, SHOWN_OUTPUT, joinStreams } from '../../grading/endings.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import { AGENT_SECONDS, type OpenStep } from './acted.ts';

const SETUP = 'setup.sh';

/**
 * Lays the files of the step's own `workdir/` over the workdir, and runs the `setup.sh` among them.
 *
 * @returns why the step cannot begin. @throws InfrastructureError; the signal's reason.
 */
export async function enterStep(
  session: WorkspaceSession,
  { task, step, content }: OpenStep,
  signal: AbortSignal,
): Promise<string | undefined> {
  const prefix = `${step.directory}workdir/`;
  const { workdir, environment } = task.workspace;
  const own = step.directory === '' ? [] : task.files.filter(({ path }) => path.startsWith(prefix));
  if (own.length === 0) return undefined;
  const files = own.map(async ({ path, isExecutable }) => ({
    path: `${workdir}/${path.slice(prefix.length)}`,
    content: await content.read(path),
    executable: isExecutable,
  }));
  await session.put(await Promise.all(files), signal);
  if (!own.some(({ path }) => path === `${prefix}${SETUP}`)) return undefined;
  const seconds = step.agent.timeoutSeconds ?? AGENT_SECONDS;
  const argv = ['/bin/bash', `${workdir}/${SETUP}`];
  const result = await session.run(
    { argv, directory: workdir, environment: cleanEnvironment(environment), seconds, output: SHOWN_OUTPUT },
    signal,
  );
  if (result.end.kind === 'exited' && result.end.code === 0) return undefined;
  return `${prefix}${SETUP} failed (${readEnding(result.end).kind}): ${joinStreams(result).slice(-500)}`;
}
