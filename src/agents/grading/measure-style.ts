import { isUtf8 } from 'node:buffer';
import { matchesGlob } from 'node:path';
import type { StyleRule } from '../tasks/arena-rules.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { SHOWN_OUTPUT } from './endings.ts';
import type { Grading, GradingContext } from './grading-context.ts';
import { describeGradingTemplate, TESTS, readTestFiles } from './grading-template.ts';
import { listLaidFiles } from './lay-workdir.ts';
import { computeStyle, findChangedLines, readFindings, type ChangedLines } from './style-findings.ts';

/** People do not write larger files. */
const MOST_FILE_BYTES = 2 ** 20;
const MOST_FILES = 200;
const OUTPUT = { ...SHOWN_OUTPUT, head: 4 * 2 ** 20 };

interface LintedFile {
  readonly path: string;
  readonly before: WorkspaceFile | undefined;
  readonly after: WorkspaceFile;
  readonly lines: ChangedLines;
}

/**
 * Measures a linter's findings on the lines that a submission has changed, compared with those before: from -1 to 1. It sees the changed files alone,
 * so that no configuration of the workspace affects it.
 *
 * @returns null when the linter could not be run to its end. @throws InputError; InfrastructureError; the signal's reason.
 */
export async function measureStyle(
  grading: Omit<Grading, 'seed'>,
  rule: StyleRule,
  { sandboxes }: Pick<GradingContext, 'sandboxes'>,
  signal: AbortSignal,
): Promise<number | null> {
  const { task, step, content, submission } = grading;
  const { workdir } = task.workspace;
  const laid = await listLaidFiles({ task, step, content }, { sandboxes }, signal);
  const changed = findChangedFiles(laid, submission.files, (path) => path.startsWith(`${workdir}/`) && isLinted(path, workdir, rule));
  if (changed.length === 0) return 0;
  await using sandbox = await sandboxes.open(describeGradingTemplate(task, step, [TESTS]), signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  const tests = await readTestFiles(task, step, content);
  const count = async (
    files: readonly WorkspaceFile[],
    isCounted: (lines: ChangedLines, line: number) => boolean,
  ): Promise<number | null> => {
    const printed = await lint(sandbox.session, grading, rule, { tests, files }, either);
    if (printed === null) return null;
    const lines = new Map(changed.map((each) => [each.path, each.lines]));
    return readFindings(printed, workdir).filter(({ path, line }) => {
      const known = lines.get(path);
      return known !== undefined && isCounted(known, line);
    }).length;
  };
  const before = changed.flatMap((each) => (each.before === undefined ? [] : [each.before]));
  const found = await count(before, (lines, line) => lines.before(line));
  const after = await count(
    changed.map((each) => each.after),
    (lines, line) => lines.after(line),
  );
  return found === null || after === null ? null : computeStyle(found, after);
}

function isLinted(path: string, workdir: string, { files }: StyleRule): boolean {
  return files.some((pattern) => matchesGlob(path.slice(workdir.length + 1), pattern));
}

function findChangedFiles(
  laid: readonly WorkspaceFile[],
  submitted: readonly WorkspaceFile[],
  isTaken: (path: string) => boolean,
): readonly LintedFile[] {
  const known = new Map(laid.map((file) => [file.path, file]));
  return submitted
    .flatMap((after) => {
      const before = known.get(after.path);
      if (!isTaken(after.path) || !isText(after) || before?.content.equals(after.content) === true) return [];
      const old = before !== undefined && isText(before) ? before : undefined;
      return [{ path: after.path, before: old, after, lines: findChangedLines(old?.content.toString() ?? '', after.content.toString()) }];
    })
    .slice(0, MOST_FILES);
}

function isText({ content }: WorkspaceFile): boolean {
  return content.length <= MOST_FILE_BYTES && isUtf8(content);
}

/** Returns the output; null when the command did not end by itself. */
async function lint(
  session: WorkspaceSession,
  { task: { workspace } }: Pick<Grading, 'task'>,
  { command, timeout }: StyleRule,
  { tests, files }: { readonly tests: readonly WorkspaceFile[]; readonly files: readonly WorkspaceFile[] },
  signal: AbortSignal,
): Promise<string | null> {
  if (files.length === 0) return '';
  const { workdir, environment } = workspace;
  for (const directory of [TESTS, workdir]) await session.wipe(directory, signal);
  await session.put([...tests, ...files], signal);
  const argv = [...command, ...files.map(({ path }) => path.slice(workdir.length + 1))];
  const run = { argv, directory: workdir, environment: cleanEnvironment(environment), seconds: timeout, output: OUTPUT };
  const { end, stdout } = await session.run(run, signal);
  return end.kind === 'exited' && stdout.total <= stdout.head.length ? stdout.head.toString('utf8') : null;
}
