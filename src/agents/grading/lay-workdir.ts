import { InfrastructureError } from '../../kernel/errors.ts';
import type { Task } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import { pruneHistory } from '../workspace/prune-history.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { Grading, GradingContext } from './grading-context.ts';
import { describeGradingTemplate, listWorkdirFiles } from './grading-template.ts';
import { dropRemoved } from './submission.ts';

/** Bounds of the files in the workdir before an agent acts. */
const LAID_BOUNDS = { files: 20_000, bytes: 512 * 2 ** 20 };
const REPOSITORY = /(^|\/)\.git(\/|$)/;

/**
 * Puts the task's files into the workdir, as an agent finds them. A git repository among them has no history beyond its HEAD.
 *
 * @param submission its files replace those of the task; files that its agent removed are left out. @returns the files. @throws InputError
 * `task.history`; InfrastructureError; the signal's reason.
 */
export async function layWorkdir(
  session: WorkspaceSession,
  { task, content, submission }: Pick<Grading, 'task' | 'content'> & Partial<Pick<Grading, 'submission'>>,
  { sandboxes }: Pick<GradingContext, 'sandboxes'>,
  signal: AbortSignal,
): Promise<readonly WorkspaceFile[]> {
  const files = dropRemoved(await listWorkdirFiles(task, content, sandboxes, signal), submission);
  await session.put(files, signal);
  const { workdir, root } = task.workspace;
  if (hasRepository(task) || (root.kind !== 'host' && (await isThere(session, `${workdir}/.git`, signal))))
    await pruneHistory(session, workdir, signal);
  return files;
}

/** Lists the files of a workdir, for a sandbox that makes its workdir again before each run. */
export async function listLaidFiles(
  { task, step, content, submission }: Pick<Grading, 'task' | 'step' | 'content'> & Partial<Pick<Grading, 'submission'>>,
  { sandboxes }: Pick<GradingContext, 'sandboxes'>,
  signal: AbortSignal,
): Promise<readonly WorkspaceFile[]> {
  const files = await listWorkdirFiles(task, content, sandboxes, signal);
  if (!files.some(({ path }) => REPOSITORY.test(path))) return dropRemoved(files, submission);
  await using sandbox = await sandboxes.open(describeGradingTemplate(task, step, []), signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  await layWorkdir(sandbox.session, { task, content }, { sandboxes }, either);
  const collected = await sandbox.session.collect([task.workspace.workdir], LAID_BOUNDS, either);
  if (collected.kind === 'collected') return dropRemoved(collected.files, submission);
  const { path, detail } = collected.refusal;
  throw new InfrastructureError('task.verifier', `environment/: ${path}: ${detail}`);
}

function hasRepository({ files }: Task): boolean {
  return files.some(({ path }) => path.startsWith('environment/') && REPOSITORY.test(path));
}

async function isThere(session: WorkspaceSession, path: string, signal: AbortSignal): Promise<boolean> {
  const found = await session.collect([path], { files: 0, bytes: 0 }, signal);
  return found.kind === 'collected' || found.refusal.kind !== 'missing';
}
