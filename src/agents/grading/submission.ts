import type { WorkspaceFile } from '../workspace/command.ts';

/** What an agent has left behind, as the host has exported it. */
export interface Submission {
  /** With the paths that they have in the workspace. */
  readonly files: readonly WorkspaceFile[];
  /** Why it cannot be graded: an artifact that is missing, a link, a device, too large. */
  readonly problem: string | undefined;
}

/** What is taken of one submission. */
export const SUBMISSION_BOUNDS = { files: 10_000, bytes: 256 * 2 ** 20, depth: 64 } as const;
