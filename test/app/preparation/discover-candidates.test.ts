import path from 'node:path';
import { expect, it } from 'vitest';
import { SyntaxParser } from '../../../src/adapters/preparation/syntax-parser.ts';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';
import { TaskGrader } from '../../../src/app/grading/task-grader.ts';
import { emitTask } from '../../../src/agents/preparation/emitted-task.ts';
import { detectLanguage } from '../../../src/agents/preparation/languages/language-table.ts';
import { discoverCandidates } from '../../../src/app/preparation/discover-candidates.ts';
import { findMutations } from '../../../src/app/preparation/find-mutations.ts';
import type { InstalledDependencies } from '../../../src/app/preparation/preparation-context.ts';
import { TestRuns } from '../../../src/app/preparation/test-runs.ts';
import { isFullForm } from '../../support/full-form.ts';
import { PATIENCE_MS, prepareFixture } from '../../support/prepared-repository.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';
import { SAMPLES } from '../../support/repository-languages.ts';
import { filesOf } from '../../support/source-files.ts';

const XML = {
  'CMakeLists.txt': 'project(xml C)\nenable_testing()\nadd_executable(xmltest xmltest.c xml.c)\nadd_test(NAME xmltest COMMAND xmltest)\n',
  'xml.c': 'int depth(int a) {\n    return a + 1;\n}\n',
  'xmltest.c': 'int depth(int);\nint main(void) {\n    return depth(1) == 2 ? 0 : 1;\n}\n',
};
const GO = SAMPLES.find(({ language }) => language === 'go');

it.runIf(isFullForm)(
  'of Go, only functions that tests cover are broken',
  async () => {
    await using made = await RepositoryFixture.make();
    await using grader = new TaskGrader(made.config);
    const steps = new StepStore(path.join(made.directory, 'steps'));
    const sandboxes = grader.hostSandboxes;
    const runs = new TestRuns(sandboxes, steps);
    const dependencies = (): Promise<InstalledDependencies> => Promise.resolve({ files: new Map(), pinned: [] });
    const own = {
      repository: 'sums',
      history: undefined,
      testSeconds: 300,
      testArguments: [],
      writer: undefined,
      onStep: () => undefined,
      parser: new SyntaxParser(),
    };
    const unused = 'package sums\n\n// Twice has no test.\nfunc Twice(a int) int {\n\treturn a * 2\n}\n';
    const files = filesOf({ ...GO?.before, 'more/twice.go': unused, 'twice.go': unused });
    const repository = { name: 'sums', history: undefined, head: null, files, [Symbol.asyncDispose]: () => Promise.resolve() };
    const context = { ...own, sandboxes, steps, runs, dependencies };
    const found = await discoverCandidates(context, repository, { commits: 0, mutations: 50 }, AbortSignal.timeout(PATIENCE_MS));
    const broken = found.map((each) =>
      each.refusal === undefined && each.candidate.kind === 'mutation' ? each.candidate.mutation.function : each.title,
    );
    expect([...new Set(broken)].sort()).toEqual(['Add', 'Mean']);
  },
  PATIENCE_MS,
);

it('a preparation that asks for neither commits nor mutations is refused', async () => {
  await using made = await RepositoryFixture.make();
  await made.commit('Begin', { 'a.py': '' });
  await expect(prepareFixture(made, { commits: 0 })).rejects.toThrow('there is nothing to prepare: --commits is 0, and --mutations is 0');
  const plain = path.join(made.repository, '..');
  await expect(prepareFixture(made, { repository: plain })).rejects.toThrow('has no history of git, and --mutations is 0');
});

it('a file that CMake names as a test counts as tests: it is not mutated, and an agent’s version of it is not used', async () => {
  await using made = await RepositoryFixture.make();
  await using grader = new TaskGrader(made.config);
  const tools = { sandboxes: grader.hostSandboxes, steps: new StepStore(path.join(made.directory, 'steps')), parser: new SyntaxParser() };
  const files = filesOf(XML);
  const detected = detectLanguage(files);
  const { framework, language } = detected;
  const mutations = await findMutations(tools, detected, files, undefined, AbortSignal.timeout(PATIENCE_MS));
  expect(new Set(mutations.map((mutation) => mutation.path))).toEqual(new Set(['xml.c']));
  const { files: written } = emitTask({
    name: 'xml',
    description: 'Xml',
    keywords: [],
    instruction: 'Mend it.',
    states: { before: files, tested: files, solved: files },
    hidden: [],
    testFiles: framework.testFiles,
    dependencies: new Map(),
    pinned: { failToPass: ['xmltest'], passToPass: [] },
    tripwires: [],
    wired: new Map(),
    suite: language.suite(framework, { kind: 'ids', ids: ['xmltest'] }),
    environment: {},
    cheats: [],
    measuredSeconds: 1,
  });
  expect(written.map((file) => file.path).filter((each) => each.startsWith('tests/package/'))).toEqual(['tests/package/xmltest.c']);
});
