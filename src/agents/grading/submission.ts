import { matchesGlob } from 'node:path';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';

/** What an agent has left behind, as the host exported it. */
export interface Submission {
  /** Files by their paths in the workspace. */
  readonly files: readonly WorkspaceFile[];
  /** Directories that were taken with all that was in them. There are none where a submission only holds what is new or changed. */
  readonly whole?: readonly WholeDirectory[];
  /** Why it cannot be graded: an artifact that is missing, a link, a device, too large. */
  readonly problem: string | undefined;
}

export interface WholeDirectory {
  /** Absolute. */
  readonly source: string;
  /** Patterns of paths below it that stayed out. */
  readonly exclude: readonly string[];
}

const HISTORY = /\/\.git\//;

/** Returns the task's files without those that the agent has removed. A repository's history stays: a program that needs all of it cuts it back. */
export function dropRemoved(laid: readonly WorkspaceFile[], submission: Submission | undefined): readonly WorkspaceFile[] {
  const { files = [], whole = [] } = submission ?? {};
  if (whole.length === 0) return laid;
  const left = new Set(files.map(({ path }) => path));
  return laid.filter(({ path }) => left.has(path) || HISTORY.test(path) || !whole.some((directory) => isTaken(path, directory)));
}

function isTaken(path: string, { source, exclude }: WholeDirectory): boolean {
  return path.startsWith(`${source}/`) && !exclude.some((pattern) => matchesGlob(path.slice(source.length + 1), pattern));
}

export const SUBMISSION_BOUNDS = { files: 10_000, bytes: 256 * 2 ** 20, depth: 64 } as const;

/**
 * Brings what a candidate has made into its sandbox.
 *
 * @returns why it cannot be there, which is the candidate's own fault: it takes more room than there is, or has a file where a directory has to be.
 * @throws InfrastructureError when the sandbox is lost; the signal's reason.
 */
export async function putSubmission(
  session: WorkspaceSession,
  files: readonly WorkspaceFile[],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await session.put(files, signal);
    return undefined;
  } catch (error) {
    if (error instanceof InfrastructureError && error.code === 'workspace.failed') return describeUnfit(error.message);
    throw error;
  }
}

export function describeUnfit(problem: string): string {
  return `the submission does not fit into its sandbox: ${problem}`;
}
