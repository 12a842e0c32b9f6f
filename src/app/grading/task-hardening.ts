import { basename, join, resolve } from 'node:path';
import { readSubmission } from '../../adapters/tasks/submission-files.ts';
import { writeTask } from '../../adapters/tasks/task-writer.ts';
import type { Trial } from '../../agents/grading/soundness.ts';
import type { KnownSubmission } from '../../agents/tasks/task.ts';
import type { WorkspaceFile } from '../../agents/workspace/command.ts';
import { InputError } from '../../kernel/errors.ts';
import { tryCandidate, type TrialTerms } from './task-check.ts';
import { openTask, type OpenTask, type TaskGrader } from './task-grader.ts';

export interface HardenTerms extends TrialTerms {
  readonly task: string;
  /** Directory of the submission: files as in the workdir, or a solve.sh. */
  readonly submission: string;
  /** Whether it has to score 0 or 1. */
  readonly role: 'cheat' | 'twin';
  /** Name of the case; that of the submission's directory when left out. */
  readonly name?: string | undefined;
}

/** The result of making a submission a case of its task. */
export interface Hardening {
  readonly task: string;
  /** Digest of the task with the case. */
  readonly digest: string;
  readonly directory: string;
  /** Whether it was a case of the task before. */
  readonly isKnown: boolean;
  readonly trial: Trial;
}

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const WHOLE = [{ source: '', destination: '.', exclude: [], isRequired: true }];

/**
 * Makes a submission a case of its task, which `task check` tries from then on, and grades it. The case stays even when the verifier turns out to be
 * wrong about it, which is its purpose.
 *
 * @throws InputError when there is another case of that name, or task or submission cannot be read; the signal's reason.
 */
export async function hardenTask(grader: TaskGrader, terms: HardenTerms, signal: AbortSignal): Promise<Hardening> {
  const name = terms.name ?? basename(resolve(terms.submission));
  if (!NAME.test(name))
    throw new InputError('task.case-name', `"${name}": expected a name of 1 to 64 letters, digits, ".", "_" or "-"; give one: --name`);
  const { files, problem } = await readSubmission(terms.submission, WHOLE);
  if (problem !== undefined) throw new InputError('task.case', `${terms.submission}: ${problem}`);
  if (files.length === 0) throw new InputError('task.case', `${terms.submission}: is empty; expected the files that an agent has left`);
  const place = terms.role === 'cheat' ? 'cheats' : 'twins';
  const isKnown = await isTheSame(terms, `${place}/${name}`, files);
  if (!isKnown) await writeTask(join(terms.task, place, name), { name, notices: [], files: files.map(toWrittenCase) });
  const open = await openTask(terms.task);
  const known = getCase(open, terms.role, name);
  const expected = terms.role === 'cheat' ? 0 : 1;
  const trial = await tryCandidate(grader, open, { name, role: terms.role, expected, known }, terms, signal);
  return { task: open.task.id, digest: open.task.digest, directory: join(terms.task, known.directory), isKnown, trial };
}

function getCase({ task }: OpenTask, role: HardenTerms['role'], name: string): KnownSubmission {
  const found = task[role === 'cheat' ? 'cheats' : 'twins'].find((each) => each.name === name);
  if (found) return found;
  throw new RangeError(`${role} ${name} was written and is not there`);
}

/** Whether the task has this case already. @throws InputError when it has another case of this name. */
async function isTheSame({ task: directory, submission }: HardenTerms, place: string, files: readonly WorkspaceFile[]): Promise<boolean> {
  const { task, content } = await openTask(directory);
  const there = task.files.filter(({ path }) => path.startsWith(`${place}/`));
  if (there.length === 0) return false;
  const byPath = new Map(files.map((file) => [`${place}${file.path}`, file]));
  const same = await Promise.all(there.map(async ({ path }) => byPath.get(path)?.content.equals(await content.read(path)) === true));
  if (there.length === files.length && same.every(Boolean)) return true;
  throw new InputError(
    'task.case-exists',
    `${directory}/${place}: is a different submission from ${submission}; give this one another name with --name`,
  );
}

function toWrittenCase({ path, content, executable }: WorkspaceFile): {
  readonly path: string;
  readonly text: Buffer;
  readonly isExecutable: boolean;
} {
  return { path: path.slice(1), text: content, isExecutable: executable };
}
