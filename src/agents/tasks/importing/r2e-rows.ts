import { stripVTControlCharacters } from 'node:util';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { z } from 'zod';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { relativePath } from '../relative-path.ts';
import { parseRow, toDirectoryName, type ImportedRow } from './imported-row.ts';
import { findPinnedProblem, listOracleFiles, type RepositoryTask, writeRepositoryTask } from './repository-task.ts';

/** Accepts a field that is JSON in a text, or that JSON itself. */
const written = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((given) => (typeof given === 'string' ? tryParseJson(given) : given), schema);
/** The content of a file before or after the commit; null for a file that is not text. */
const content = z.string().nullish();

const rowSchema = z.looseObject({
  repo_name: z.string().min(1),
  docker_image: z.string().regex(/^[\w./:@-]+$/, 'expected the name of an image'),
  commit_hash: z.string().min(1),
  problem_statement: z.string(),
  expected_output_json: written(z.record(z.string(), z.string(), 'expected the statuses of the tests, as JSON')),
  execution_result_content: written(
    z.looseObject({
      test_file_names: z.array(relativePath).min(1).max(1000),
      test_file_codes: z.array(z.string()).max(1000),
      old_commit_res_stdout: z.string().nullish(),
      new_commit_res_stdout: z.string(),
    }),
  ),
  parsed_commit_content: written(
    z.looseObject({
      file_diffs: z
        .array(
          z.looseObject({
            header: z.looseObject({ file: z.looseObject({ path: relativePath }) }),
            old_file_content: content,
            new_file_content: content,
          }),
        )
        .max(10_000),
    }),
  ),
});
type R2eRow = z.infer<typeof rowSchema>;

const WORKDIR = '/testbed';
const TESTS = 'r2e_tests';
const ENVIRONMENT = '/opt/venv';
/** The part of the workdir's 256 MiB that the history may take. */
const HISTORY_MEBIBYTES = 128;
/** The value that the images' own `run_tests.sh` sets. */
const WARNINGS = 'PYTHONWARNINGS=ignore::UserWarning,ignore::SyntaxWarning';
const DISPLAY = ['QT_QPA_PLATFORM=minimal', 'xvfb-run', '--auto-servernum'];
const WITH_DISPLAY: ReadonlySet<string> = new Set(['orange3']);

const SUMMARY = 'short test summary info';
const RESULT = /^(?<status>PASSED|FAILED|ERROR) (?<id>\S+?\.py::.+)$/gm;
/** This text follows the name of a test that has failed. */
const MESSAGE = ' - ';
const IS_TEST = /(^|\/)(tests?|Tests?)\/|(^|\/)test_[^/]*$|_test\.py$/;

/**
 * Reads a row of R2E-Gym. The row names tests by class and function alone, with the status that each must have; its log of the fixed commit names
 * their files, too. Tests that do not pass there are not run. The image has the tests, too; the task removes them from it.
 *
 * @throws InputError `task.row` that names the field.
 */
export function readR2eTask(where: string, row: unknown): ImportedRow {
  const read = parseRow(where, rowSchema, row);
  const id = toDirectoryName(`${read.repo_name}-${read.commit_hash}`);
  const found = findPinnedTests(read);
  const patch = writeGoldPatch(read);
  const refusal = found.refusal ?? findPinnedProblem(found) ?? (patch === '' ? 'its commit changes no text but tests' : undefined);
  if (refusal !== undefined) return { name: id, refusal };
  const { failToPass, passToPass } = found;
  return {
    task: writeRepositoryTask({
      source: 'r2e-gym',
      id,
      repository: read.repo_name,
      workdir: WORKDIR,
      environment: {},
      instruction: /\[ISSUE\](?<issue>.*)\[\/ISSUE\]/s.exec(read.problem_statement)?.groups?.['issue'] ?? read.problem_statement,
      command: buildTestCommand(read.repo_name),
      settings: 'overlay = "package"\n',
      failToPass,
      passToPass,
      files: [
        ['environment/Dockerfile', writeDockerfile(read.docker_image)],
        ...listTestFiles(read),
        ...listOracleFiles(WORKDIR, 'gold.patch', patch),
      ],
    }),
  };
}

/**
 * Moves the Python environment out of the workdir: it has too many files, and a link to its interpreter that has to stay a link. Of the history of
 * all branches, only the ancestors of HEAD stay, as far as there is room. `.git/shallow` makes git take HEAD for the first commit.
 */
function writeDockerfile(image: string): string {
  return `FROM ${image}
WORKDIR ${WORKDIR}
# The agent must not find the tests. The environment of Python moves, since it does not fit into the workdir.
RUN rm -rf /${TESTS} /root/${TESTS} ${TESTS} run_tests.sh /root/run_tests.sh \\
 && mv .venv ${ENVIRONMENT} \\
 && { grep -rlI '^#!${WORKDIR}/\\.venv/' ${ENVIRONMENT}/bin | xargs -r sed -i '1s|${WORKDIR}/\\.venv/|${ENVIRONMENT}/|'; }
# Neither does what Python makes again, a link that names nothing, or a long history.
RUN find . -name __pycache__ -prune -exec rm -rf {} + \\
 && find . -xtype l -delete \\
 && git for-each-ref --no-merged=HEAD --format='delete %(refname)' | git update-ref --no-deref --stdin \\
 && rm -rf .git/logs .git/*_HEAD && git repack -adq && git prune --expire=now \\
 && if [ "$(du -sm .git | cut -f1)" -gt ${HISTORY_MEBIBYTES} ]; then \\
 git rev-parse HEAD >.git/shallow && git for-each-ref --format='delete %(refname)' refs/tags refs/remotes | git update-ref --no-deref --stdin \\
 && git repack -adq && git prune --expire=now; fi
ENV PATH=${ENVIRONMENT}/bin:$PATH VIRTUAL_ENV=${ENVIRONMENT}
`;
}

function buildTestCommand(repository: string): readonly string[] {
  const before = WITH_DISPLAY.has(repository) ? DISPLAY : [];
  const pytest = ['-W', 'ignore', '-m', 'pytest', '-q', '-o', 'junit_family=xunit1', '--junitxml={report}', '{tests}'];
  return ['/usr/bin/env', WARNINGS, ...before, `${ENVIRONMENT}/bin/python`, ...pytest];
}

function listTestFiles({ execution_result_content: { test_file_names: names, test_file_codes: codes } }: R2eRow): RepositoryTask['files'] {
  const files = new Map([['__init__.py', '']]);
  names.forEach((name, at) => files.set(name.replace(`${TESTS}/`, ''), codes[at] ?? ''));
  return [...files].map(([name, text]) => [`tests/package/${TESTS}/${name}`, text] as const);
}

type PinnedTests = Pick<RepositoryTask, 'failToPass' | 'passToPass'> & { readonly refusal?: string };

function refuse(refusal: string): PinnedTests {
  return { failToPass: [], passToPass: [], refusal };
}

function findPinnedTests({ expected_output_json: expected, execution_result_content: execution }: R2eRow): PinnedTests {
  const { test_file_names: names, test_file_codes: codes, old_commit_res_stdout: before, new_commit_res_stdout: after } = execution;
  if (names.length !== codes.length) return refuse('it has not as many test files as names for them');
  const runner = names.find((name) => name.endsWith('runner.py'));
  if (runner !== undefined) return refuse(`its tests are started by ${runner}, and not by pytest`);
  const ids = Map.groupBy(readSummary(after), ({ name }) => name);
  const passed = new Set(readSummary(before ?? '').flatMap(({ id, status }) => (status === 'PASSED' ? [id] : [])));
  const pinned: string[] = [];
  for (const [name, status] of Object.entries(expected)) {
    if (status !== 'PASSED') continue;
    const named = ids.get(stripVTControlCharacters(name)) ?? [];
    const [one] = named;
    if (one === undefined || named.length > 1)
      return refuse(
        `its log of the fixed commit has ${named.length} tests of the name ${JSON.stringify(name.slice(0, 100))}; expected one`,
      );
    pinned.push(one.id);
  }
  return { failToPass: pinned.filter((id) => !passed.has(id)), passToPass: pinned.filter((id) => passed.has(id)) };
}

interface Summarised {
  readonly id: string;
  /** The name of a test in the row's statuses. */
  readonly name: string;
  readonly status: string;
}

/** Reads the summary that pytest prints under -rA. */
function readSummary(log: string): readonly Summarised[] {
  const [, summary = ''] = stripVTControlCharacters(log).split(SUMMARY);
  return Array.from(summary.matchAll(RESULT), ({ groups: { status = '', id: line = '' } = {} }) => {
    const id = (status === 'PASSED' ? line : (line.split(MESSAGE)[0] ?? '')).trimEnd();
    return { id, status, name: id.split('::').slice(1).join('.') };
  });
}

/** Writes what the commit changes, without tests and files that are not text. */
function writeGoldPatch({ parsed_commit_content: { file_diffs: diffs } }: R2eRow): string {
  const patches = diffs.map(({ header, old_file_content: old, new_file_content: now }) => {
    const { path } = header.file;
    if (IS_TEST.test(path) || (old ?? '') === (now ?? '')) return '';
    const names = [old ? `a/${path}` : '/dev/null', now ? `b/${path}` : '/dev/null'] as const;
    return createTwoFilesPatch(names[0], names[1], old ?? '', now ?? '', undefined, undefined, { headerOptions: FILE_HEADERS_ONLY });
  });
  return patches.join('');
}
