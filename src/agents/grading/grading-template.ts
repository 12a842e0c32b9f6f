import { posix } from 'node:path';
import { InputError } from '../../kernel/errors.ts';
import type { CasesStage } from '../tasks/muster-schema.ts';
import type { Task, TaskStep } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import type { TaskContent } from './grading-context.ts';
import type { GradingTemplate, GradingSandboxes } from './grading-sandboxes.ts';

export const TESTS = '/tests';
export const LOGS = '/logs';
export const DRIVER = '/driver';

/** Build files of a container image, which describe how the root file system is made and are not part of the workdir. */
const BUILD_FILES: ReadonlySet<string> = new Set(['Dockerfile', 'docker-compose.yaml', 'docker-compose.yml', '.dockerignore']);
const ENVIRONMENT = 'environment/';

/**
 * Describes the sandbox in which a step's submission is graded.
 *
 * @throws InputError `task.artifact-place` for an artifact in a directory that is not writable.
 */
export function describeGradingTemplate(
  { workspace: { root, workdir }, limits }: Task,
  { artifacts }: Pick<TaskStep, 'artifacts'>,
  own: readonly string[],
  tools: GradingTemplate['tools'] = [],
): GradingTemplate {
  const writable = [workdir, LOGS, ...own];
  for (const { source } of artifacts) {
    if (['/tmp', ...writable].some((directory) => source === directory || source.startsWith(`${directory}/`))) continue;
    const directory = posix.dirname(source);
    if (directory === '/') {
      const remedy = `put it into a directory, such as ${workdir}${source}`;
      throw new InputError('task.artifact-place', `artifact ${source} is directly in "/", where no sandbox can write; ${remedy}`);
    }
    writable.push(directory);
  }
  return { root, writable: writable.filter((each, i) => writable.indexOf(each) === i), limits, tools };
}

/** Empties every directory that can be written to. */
export async function wipeWritablePaths(session: WorkspaceSession, template: GradingTemplate, signal: AbortSignal): Promise<void> {
  // Sent together, they cost one wait; they are carried out in order.
  await Promise.all(listWrittenPaths(template).map((directory) => session.wipe(directory, signal)));
}

/** Lists all writable directories. */
export function listWrittenPaths({ writable }: GradingTemplate): readonly string[] {
  return ['/tmp', '/dev/shm', ...writable];
}

/**
 * Describes the sandbox in which the candidate's cases are run. When it is measured beside the golden model, the directory of tests exists, but is
 * empty while the candidate runs. So a candidate cannot see whether it is measured.
 */
export function describeCandidateTemplate(
  { grading: { task, step }, verifier: { score } }: CandidateTerms,
  { driver }: CasesStage,
): GradingTemplate {
  const isMeasured = score.speed !== undefined || score.efficiency !== undefined;
  return describeGradingTemplate(task, step, [...(driver === undefined ? [] : [DRIVER]), ...(isMeasured ? [TESTS] : [])]);
}

/**
 * Lists the files in the workdir before an agent begins: those of the image, and over them those of environment/, unless a Dockerfile has copied the
 * ones it needs.
 */
export async function listWorkdirFiles(
  { files, workspace: { root, workdir } }: Task,
  content: TaskContent,
  sandboxes: GradingSandboxes,
  signal: AbortSignal,
): Promise<readonly WorkspaceFile[]> {
  const own = await sandboxes.rootFiles(root, workdir, signal);
  if (root.kind === 'dockerfile') return own;
  const brought = files.filter(({ path }) => path.startsWith(ENVIRONMENT) && !BUILD_FILES.has(path.slice(ENVIRONMENT.length)));
  const over = await Promise.all(
    brought.map(async ({ path, isExecutable }) => ({
      path: `${workdir}/${path.slice(ENVIRONMENT.length)}`,
      content: await content.read(path),
      executable: isExecutable,
    })),
  );
  return [...own, ...over];
}

/** Reads the files of the step's tests. @param prefix of the wanted files, in tests/. @param at directory in the sandbox that replaces the prefix. */
export async function readTestFiles(
  { files }: Task,
  { tests }: TaskStep,
  content: TaskContent,
  prefix = '',
  at = TESTS,
): Promise<readonly WorkspaceFile[]> {
  const executable = new Set(files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path));
  const wanted = tests.filter(({ path }) => path.startsWith(prefix));
  return await Promise.all(
    wanted.map(async ({ path, file }) => ({
      path: `${at}/${path.slice(prefix.length)}`,
      content: await content.read(file),
      executable: executable.has(file) || path === 'test.sh',
    })),
  );
}
