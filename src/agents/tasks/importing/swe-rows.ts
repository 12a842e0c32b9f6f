import { z } from 'zod';
import { parseRow, testIdList, toDirectoryName, type ImportedRow } from './imported-row.ts';
import { readR2eTask } from './r2e-rows.ts';
import { findPinnedProblem, listOracleFiles, quoteShellWord, writeRepositoryTask } from './repository-task.ts';

const patchText = z
  .string()
  .min(1)
  .max(16 * 1024 * 1024);
const common = {
  instance_id: z.string().min(1).max(256),
  repo: z.string(),
  patch: patchText,
  FAIL_TO_PASS: testIdList,
  PASS_TO_PASS: testIdList,
};

const benchSchema = z.looseObject({
  ...common,
  base_commit: z.string(),
  test_patch: patchText,
  problem_statement: z.string().min(1),
  version: z.string().optional(),
  image: z.string().optional(),
  docker_image: z.string().optional(),
  image_name: z.string().optional(),
  language: z.string().optional(),
});
const smithSchema = z.looseObject({ ...common, image_name: z.string().min(1), problem_statement: z.string().optional() });

const WORKDIR = '/testbed';

/** SWE-rebench-V2, whose rows name a language, has the repository in a directory of its name; all others in /testbed. */
function getWorkdir({ repo, language }: { readonly repo: string; readonly language?: string | undefined }): string {
  return language === undefined ? WORKDIR : `/${toDirectoryName(repo.slice(repo.lastIndexOf('/') + 1))}`;
}

/** A path at the side of a patch that is there behind it. */
const PATCHED = /^\+\+\+ b\/(?<path>[^\t\n]+)/gm;
/**
 * Reads a row of SWE-bench, and of SWE-rebench, which has its columns; of R2E-Gym, which has statuses in place of test ids; of SWE-smith where it has
 * no tests of its own.
 *
 * @param where names the row for messages. @throws InputError `task.row` that names the field.
 */
export function readSweTask(where: string, row: unknown): ImportedRow {
  if (typeof row === 'object' && row !== null && 'expected_output_json' in row) return readR2eTask(where, row);
  const hasTests = typeof row === 'object' && row !== null && 'test_patch' in row;
  return hasTests ? readSweBenchTask(where, row) : readSweSmithTask(where, row);
}

/** Reads a row of SWE-bench, or of a dataset with its columns. The gold patch is the oracle, and is nowhere else. */
function readSweBenchTask(where: string, row: unknown): ImportedRow {
  const read = parseRow(where, benchSchema, row);
  const { instance_id: id, patch, test_patch: testPatch } = read;
  // The naming of SWE-bench's images.
  const image =
    read.image ?? read.docker_image ?? read.image_name ?? `sweb.eval.x86_64.${id.toLowerCase().replaceAll('__', '_1776_')}:latest`;
  const pinned = { failToPass: read.FAIL_TO_PASS, passToPass: read.PASS_TO_PASS };
  const refusal = findPinnedProblem(pinned);
  if (refusal !== undefined) return { name: id, refusal };
  const files = listPatchedFiles(testPatch).filter((path) => path.endsWith('.py'));
  const workdir = getWorkdir(read);
  return {
    task: writeRepositoryTask({
      source: 'swe-bench',
      id,
      repository: read.repo,
      workdir,
      environment: { docker_image: image },
      instruction: read.problem_statement,
      command: buildTestCommand(files, 'git apply --whitespace=nowarn /tests/test.patch && '),
      ...pinned,
      files: [['tests/test.patch', testPatch], ...listOracleFiles(workdir, 'gold.patch', patch)],
    }),
  };
}

/** Reads a row of SWE-smith. Its patch makes the bug, which the workspace begins with; taking it back is the oracle. */
function readSweSmithTask(where: string, row: unknown): ImportedRow {
  const read = parseRow(where, smithSchema, row);
  const { instance_id: id, patch, image_name: image, problem_statement: problem = '' } = read;
  const pinned = { failToPass: read.FAIL_TO_PASS, passToPass: read.PASS_TO_PASS };
  const refusal = problem.trim() === '' ? 'it has no problem_statement, so there is nothing to ask an agent' : findPinnedProblem(pinned);
  if (refusal !== undefined) return { name: id, refusal };
  const files = [...new Set([...read.FAIL_TO_PASS, ...read.PASS_TO_PASS].map((test) => test.split('::')[0] ?? ''))];
  const dockerfile = `FROM ${image}\nWORKDIR ${WORKDIR}\nCOPY bug.patch /tmp/bug.patch\n# The history holds the code without the bug.\nRUN git apply --whitespace=nowarn /tmp/bug.patch && rm -rf /tmp/bug.patch .git && git init -q && git add -A && git -c user.name=task -c user.email=task@localhost commit -qm start\n`;
  return {
    task: writeRepositoryTask({
      source: 'swe-smith',
      id,
      repository: read.repo,
      workdir: WORKDIR,
      environment: {},
      instruction: problem,
      command: buildTestCommand(files),
      ...pinned,
      files: [
        ['environment/Dockerfile', dockerfile],
        ['environment/bug.patch', patch],
        ...listOracleFiles(WORKDIR, 'bug.patch', patch, '-R '),
      ],
    }),
  };
}

function buildTestCommand(files: readonly string[], before = ''): readonly string[] {
  const pytest = 'python -m pytest -q -p no:cacheprovider -o junit_family=xunit1 --junitxml={report}';
  return ['bash', '-lc', `${before}${pytest} ${files.map(quoteShellWord).join(' ')}`];
}

function listPatchedFiles(patch: string): readonly string[] {
  return [...new Set(Array.from(patch.matchAll(PATCHED), ({ groups }) => groups?.['path'] ?? ''))];
}
