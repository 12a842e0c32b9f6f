import { z } from 'zod';
import { toWrittenFile, type WrittenTask } from '../written-task.ts';
import { toDirectoryName, parseRow, testIdList, formatTomlText, type ImportedRow } from './imported-row.ts';

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
/** Only pytest's ids name the file; the ids of other runners need that repository's own runner. */
const PYTEST_ID = /^[\w./-]+\.py::/;

/**
 * A row of SWE-bench, and of SWE-rebench, which has its columns; of SWE-smith where it has no tests of its own. Rows of R2E-Gym are told from
 * these and left out.
 *
 * @param where names the row for messages. @throws InputError `task.row` that names the field.
 */
export function readSweTask(where: string, row: unknown): ImportedRow {
  if (typeof row === 'object' && row !== null && 'expected_output_json' in row) return findR2eRefusal(row);
  const hasTests = typeof row === 'object' && row !== null && 'test_patch' in row;
  return hasTests ? readSweBenchTask(where, row) : readSweSmithTask(where, row);
}

/** Its statuses are of test functions without their files, all of which have to agree, and the tests lie in the image where an agent finds them. */
function findR2eRefusal(row: object): ImportedRow {
  const named = ['repo_name', 'commit_hash'].map((key): unknown => Reflect.get(row, key)).filter((part) => typeof part === 'string');
  const refusal = "it is a row of R2E-Gym: its tests lie in the image, and its statuses name functions and not pytest's test ids";
  return { name: toDirectoryName(named.join('-')), refusal };
}

/** SWE-bench and what has its columns. The gold patch is the oracle, and stands nowhere else. */
function readSweBenchTask(where: string, row: unknown): ImportedRow {
  const read = parseRow(where, benchSchema, row);
  const { instance_id: id, patch, test_patch: testPatch } = read;
  // As the images of SWE-bench are called.
  const image =
    read.image ?? read.docker_image ?? read.image_name ?? `sweb.eval.x86_64.${id.toLowerCase().replaceAll('__', '_1776_')}:latest`;
  const refusal = findRefusal(read);
  if (refusal !== undefined) return { name: id, refusal };
  const files = listPatchedFiles(testPatch).filter((path) => path.endsWith('.py'));
  const environment = { docker_image: image };
  const workdir = getWorkdir(read);
  return {
    task: toTask(read, {
      source: 'swe-bench',
      workdir,
      environment,
      instruction: read.problem_statement,
      test: `git apply --whitespace=nowarn /tests/test.patch && python -m pytest -q -p no:cacheprovider -o junit_family=xunit1 --junitxml={report} ${files.map(quoteShellWord).join(' ')}`,
      files: [
        ['tests/test.patch', testPatch],
        ['solution/gold.patch', patch],
        ['solution/solve.sh', `#!/bin/sh\nset -e\ncd ${quoteShellWord(workdir)}\ngit apply --whitespace=nowarn /solution/gold.patch\n`],
      ],
    }),
  };
}

/** SWE-smith: its patch makes the bug, which the workspace begins with; taking it back is the oracle. */
function readSweSmithTask(where: string, row: unknown): ImportedRow {
  const read = parseRow(where, smithSchema, row);
  const { instance_id: id, patch, image_name: image, problem_statement: problem = '' } = read;
  const refusal = problem.trim() === '' ? 'it has no problem_statement, so there is nothing to ask an agent' : findRefusal(read);
  if (refusal !== undefined) return { name: id, refusal };
  const files = [...new Set([...read.FAIL_TO_PASS, ...read.PASS_TO_PASS].map((test) => test.split('::')[0] ?? ''))];
  const dockerfile = `FROM ${image}\nWORKDIR ${WORKDIR}\nCOPY bug.patch /tmp/bug.patch\n# The history holds the code without the bug.\nRUN git apply --whitespace=nowarn /tmp/bug.patch && rm -rf /tmp/bug.patch .git && git init -q && git add -A && git -c user.name=task -c user.email=task@localhost commit -qm start\n`;
  return {
    task: toTask(read, {
      source: 'swe-smith',
      workdir: WORKDIR,
      environment: {},
      instruction: problem,
      test: `python -m pytest -q -p no:cacheprovider -o junit_family=xunit1 --junitxml={report} ${files.map(quoteShellWord).join(' ')}`,
      files: [
        ['environment/Dockerfile', dockerfile],
        ['environment/bug.patch', patch],
        ['solution/bug.patch', patch],
        ['solution/solve.sh', `#!/bin/sh\nset -e\ncd ${WORKDIR}\ngit apply -R --whitespace=nowarn /solution/bug.patch\n`],
      ],
    }),
  };
}

type SweRow = Pick<z.infer<typeof benchSchema>, 'instance_id' | 'repo' | 'FAIL_TO_PASS' | 'PASS_TO_PASS'>;

interface SweParts {
  readonly source: 'swe-bench' | 'swe-smith';
  /** Where the image has the repository. */
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly instruction: string;
  /** Shell commands that run the tests. */
  readonly test: string;
  readonly files: readonly (readonly [string, string])[];
}

function toTask(row: SweRow, { source, workdir, environment, instruction, test, files }: SweParts): WrittenTask {
  const name = toDirectoryName(row.instance_id);
  const taskToml = `schema_version = "1.4"
artifacts = [{ source = "${workdir}", exclude = [".git", "__pycache__"] }]

[task]
name = ${formatTomlText(`${source}/${name}`)}
description = ${formatTomlText(`An issue of ${row.repo}`)}
keywords = ["${source}", "repository"]

[agent]
timeout_sec = 3000.0

[verifier]
timeout_sec = 3000.0

[environment]
network_mode = "no-network"
workdir = "${workdir}"
${Object.entries(environment)
  .map(([key, text]) => `${key} = ${formatTomlText(text)}\n`)
  .join('')}`;
  const musterToml = `[execute]
kind = "suite"
runner = "pytest"
boundary = "shared"
command = ["bash", "-lc", ${formatTomlText(test)}]
failToPass = "fail-to-pass.json"
passToPass = "pass-to-pass.json"
seconds = 1800
`;
  const written: readonly (readonly [string, string])[] = [
    ['task.toml', taskToml],
    ['muster.toml', musterToml],
    ['instruction.md', `${instruction.trim()}\n`],
    ['tests/fail-to-pass.json', listText(row.FAIL_TO_PASS)],
    ['tests/pass-to-pass.json', listText(row.PASS_TO_PASS)],
    ...files,
  ];
  return { name, files: written.map(([path, text]) => toWrittenFile(path, text)), notices: [] };
}

function findRefusal({ FAIL_TO_PASS: failToPass, PASS_TO_PASS: passToPass }: SweRow): string | undefined {
  if (failToPass.length === 0) return 'it has no test that has to begin to pass';
  const foreign = [...failToPass, ...passToPass].find((id) => !PYTEST_ID.test(id));
  if (foreign !== undefined)
    return `the test id ${JSON.stringify(foreign.slice(0, 100))} is not one of pytest's; this repository has a runner of its own`;
  const seen = new Set<string>();
  const twice = [...failToPass, ...passToPass].find((id) => seen.size === seen.add(id).size);
  return twice === undefined ? undefined : `the test id ${JSON.stringify(twice.slice(0, 100))} stands twice`;
}

function listPatchedFiles(patch: string): readonly string[] {
  return [...new Set(Array.from(patch.matchAll(PATCHED), ({ groups }) => groups?.['path'] ?? ''))];
}

function quoteShellWord(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function listText(ids: readonly string[]): string {
  return `${JSON.stringify(ids, undefined, 1)}\n`;
}
