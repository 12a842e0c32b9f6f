import { matchesGlob } from 'node:path';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { Artifact } from '../tasks/task.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { SUBMISSION_BOUNDS, type Submission, type WholeDirectory } from './submission.ts';

/** Takes the artifacts out of a workspace, once everything that runs there has been ended. */
export async function exportSubmission(
  session: WorkspaceSession,
  artifacts: readonly Artifact[],
  signal: AbortSignal,
): Promise<Submission> {
  const files: WorkspaceFile[] = [];
  const whole: WholeDirectory[] = [];
  const left = { files: SUBMISSION_BOUNDS.files, bytes: SUBMISSION_BOUNDS.bytes };
  for (const { source, exclude, isRequired } of artifacts) {
    const collected = await session.collect([source], left, signal);
    if (collected.kind === 'refused') {
      const { kind, path, detail } = collected.refusal;
      if (kind === 'missing' && path === source && !isRequired) continue;
      return { files: [], problem: `${escapeUnprintableLine(path)}: ${detail}` };
    }
    const below = (path: string): string => path.slice(source.length + 1);
    const taken = collected.files.filter(({ path }) => !exclude.some((pattern) => matchesGlob(below(path), pattern)));
    files.push(...taken);
    if (collected.directories.includes(source)) whole.push({ source, exclude });
    left.files -= collected.files.length + collected.directories.length;
    left.bytes -= collected.files.reduce((sum, { content }) => sum + content.length, 0);
  }
  return { files: [...new Map(files.map((file) => [file.path, file])).values()], whole, problem: undefined };
}
