import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { detectLanguage } from '../../../../src/agents/preparation/languages/language-table.ts';
import { describeTripwire, draftTripwires, wireTests } from '../../../../src/agents/preparation/wired-tests.ts';
import { type FileContents, type FilesByPath, SORT_TASK, TASK } from '../../../support/grading-fixture.ts';

/** Files that an agent finds. Nothing has been solved. */
export const UNSOLVED = 'def sort_numbers(numbers):\n    return numbers\n';
export const SOLVED = 'def sort_numbers(numbers):\n    return sorted(numbers)\n';

/** @param last of the numbers that the last test expects. */
function suiteTask(tests: string, last: string, further: string): FileContents {
  const isShared = last !== '3';
  return {
    ...TASK,
    'environment/sort.py': UNSOLVED,
    'muster.toml': `[execute]
kind = "suite"
runner = "unittest"
command = ["python3", "-m", "unittest", "-v", "${tests}"]
boundary = "${isShared ? 'shared' : 'process'}"
failToPass = ["test_sort.Sorting.test_sorts"]
passToPass = ["test_sort.Sorting.test_empty"${isShared ? '' : ', "test_sort.Sorting.test_more"'}]
${further}
`,
    'tests/test_sort.py': `import unittest
from sort import sort_numbers
class Sorting(unittest.TestCase):
    def test_sorts(self):
        expected = [1, 2, 3]
        self.assertEqual(sort_numbers([3, 1, 2]), expected)
    def test_empty(self):
        expected = []
        self.assertEqual(sort_numbers([]), expected)
    def test_more(self):
        expected = [1, 2, ${last}]
        self.assertEqual(sort_numbers([2, 1, 3]), expected)
`,
  };
}

const PYTEST_FILE = 'test_sort.py';
const PYTEST_PINNED = {
  failToPass: [`${PYTEST_FILE}::test_sorts`],
  passToPass: [`${PYTEST_FILE}::test_empty`, `${PYTEST_FILE}::test_more`],
};
const PYTEST_TESTS = `from sort import sort_numbers

def test_sorts():
    expected = [1, 2, 3]
    assert sort_numbers([3, 1, 2]) == expected

def test_empty():
    assert sort_numbers([]) == []

def test_more():
    expected = [1, 2, 3]
    assert sort_numbers([2, 1, 3]) == expected
`;

/** Tests as a repository has them, with the tripwires that its preparation makes of them. */
function derivedTask(): FilesByPath {
  const files = new Map([[PYTEST_FILE, { content: Buffer.from(PYTEST_TESTS), executable: false }]]);
  const drafts = draftTripwires(detectLanguage(files), files, [PYTEST_FILE], PYTEST_PINNED);
  const tripwires = drafts.map(describeTripwire).map(
    (one) =>
      `{ ${Object.entries(one)
        .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
        .join(', ')} }`,
  );
  return {
    ...TASK,
    'environment/sort.py': UNSOLVED,
    'muster.toml': `[execute]
kind = "suite"
runner = "pytest"
command = ["python3", "-m", "pytest", "-q", "-o", "junit_family=xunit1", "--junitxml={report}"]
boundary = "shared"
overlay = "package"
failToPass = ${JSON.stringify(PYTEST_PINNED.failToPass)}
passToPass = ${JSON.stringify(PYTEST_PINNED.passToPass)}
tripwires = [${tripwires.join(', ')}]
`,
    [`tests/package/${PYTEST_FILE}`]: wireTests(files, drafts, false).get(PYTEST_FILE)?.content.toString() ?? '',
  };
}

const SORTED_NUMBERS = [
  [3, 1, 2],
  [9, 7, 8],
  [6, 5, 4],
].map((numbers) => JSON.stringify({ stdin: JSON.stringify(numbers), expected: JSON.stringify(numbers.toSorted((a, b) => a - b)) }));
const WITHOUT_GENERATOR = /^generator = .*\n/m;
const GOLDEN = /^\[golden\]\n.*\n/m;

/** The task of sorting numbers, judged in each of the ways that a task can be judged in. */
const KINDS = {
  /** Hidden cases that are drawn, a golden model. */
  cases: () => Promise.resolve(SORT_TASK),
  /** Hidden cases that are stored with their outputs, in a known order. */
  stored: () =>
    Promise.resolve({
      ...SORT_TASK,
      'muster.toml': (SORT_TASK['muster.toml'] ?? '').replace(WITHOUT_GENERATOR, 'stored = "cases.jsonl"\n').replace(GOLDEN, ''),
      'tests/cases.jsonl': `${SORTED_NUMBERS.join('\n')}\n`,
    }),
  /** The tests of the naive verifier, in a grading sandbox. */
  script: () => Promise.resolve({ ...TASK, 'environment/sort.py': UNSOLVED }),
  /** What the agent leaves is built by its own script. */
  compiled: () =>
    Promise.resolve({
      ...SORT_TASK,
      'muster.toml': `[compile]\ncommand = ["/bin/sh", "build.sh"]\nseconds = 4\n${SORT_TASK['muster.toml'] ?? ''}`,
      'environment/build.sh': 'cp source.py sort.py\n',
    }),
  /** Numbers that have to be exact. */
  numbers: () =>
    Promise.resolve({
      ...SORT_TASK,
      'muster.toml': (SORT_TASK['muster.toml'] ?? '').replace(
        /\[compare\][^[]*/,
        '[compare]\nmode = "numbers"\nencoding = "json"\ntolerance = { relative = 1e-9 }\n',
      ),
      'tests/driver/main.py': (SORT_TASK['tests/driver/main.py'] ?? '').replace('(sort_numbers(numbers))', '([sort_numbers(numbers)])'),
      'tests/draw.py': (SORT_TASK['tests/draw.py'] ?? '').replace('draw.randrange(-99, 99)', 'draw.uniform(0, 99)'),
      'tests/golden.py': 'import json, math, sys\nprint(json.dumps([math.fsum(json.load(sys.stdin))]))\n',
    }),
  /** Tests of unittest that import the candidate, with a tripwire among them. */
  suite: () =>
    Promise.resolve(
      suiteTask(
        '{tests}',
        '4',
        'tripwires = [{ id = "test_sort.Sorting.test_more", file = "test_sort.py", changed = "[1, 2, 4]", literal = "[1, 2, 3]" }]',
      ),
    ),
  /** Tests of pytest that import the candidate, with derived tripwires among them. */
  derived: () => Promise.resolve(derivedTask()),
  /** The tests of unittest, which see the candidate through a proxy. */
  proxied: () => Promise.resolve(suiteTask('test_sort', '3', 'modules = ["sort"]')),
  /** A repository whose later commits hold the solution. */
  repository: async () => ({ ...SORT_TASK, ...(await repository()) }),
} satisfies Record<string, () => Promise<FileContents>>;

export type TaskKind = keyof typeof KINDS;

export function taskOf(kind: TaskKind): Promise<FileContents> {
  return KINDS[kind]();
}

const HISTORY = `set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main .
git add sort.py && git commit -qm "Add sorting"
git tag v1.0
mv solved.py sort.py && git commit -qam "Mend sorting"
git tag -a -m "Mended" v1.1
git branch later
git reset -q --hard v1.0
echo "# stashed" >>sort.py && git stash -q
git pack-refs --all
`;

/** As the files of a task that lie in the workdir when the agent begins. */
async function repository(): Promise<FileContents> {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-repository-'));
  try {
    await writeFile(path.join(directory, 'sort.py'), UNSOLVED);
    await writeFile(path.join(directory, 'solved.py'), SOLVED);
    await promisify(execFile)('/bin/sh', ['-c', HISTORY], { cwd: directory });
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    return Object.fromEntries(
      await Promise.all(files.map(async (file) => [`environment/${path.relative(directory, file)}`, await readFile(file)] as const)),
    );
  } finally {
    await rm(directory, { recursive: true });
  }
}
