import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import type { Digest } from '../../kernel/ids.ts';
import { parseTaskDigest, type TaskDigest } from './task-ids.ts';
import type { Task, TaskFile, TaskStep } from './task.ts';

/**
 * Digests a task's canonical form: what was read of it, with defaults filled in, and every file by its digest. So any change of a file makes it
 * another task, also of a comment in its TOML files.
 */
export function digestTask(task: Omit<Task, 'digest' | 'notices' | 'arena'>): TaskDigest {
  const { id, description, keywords, files, workspace, limits, steps, strategy, oracle, cheats, twins } = task;
  const canonical = { id, description, keywords, workspace, limits, steps: steps.map(toCanonicalStep), strategy, oracle, cheats, twins };
  return parseTaskDigest(digestBytes(formatCanonicalJson({ ...canonical, files: files.map(toNamedFile) })));
}

/**
 * Digests what decides a step's verdict besides the submission: the stages and every file in /tests. It is equal for tasks that differ only in their
 * instruction.
 *
 * @param version of the grading code.
 */
export function digestVerifier(task: Pick<Task, 'files'>, step: TaskStep, version: number): Digest {
  const byPath = new Map(task.files.map((file) => [file.path, file]));
  const tests = step.tests.map(({ path, file }) => [path, byPath.get(file)?.digest, byPath.get(file)?.isExecutable]);
  return digestBytes(formatCanonicalJson({ version, verifier: step.verifier, artifacts: step.artifacts, tests }));
}

function toNamedFile({ path, digest, isExecutable }: TaskFile): readonly unknown[] {
  return [path, digest, isExecutable];
}

/** JSON has no infinity. */
function toCanonicalStep(step: TaskStep): unknown {
  return { ...step, leastReward: step.leastReward === -Infinity ? null : step.leastReward };
}
