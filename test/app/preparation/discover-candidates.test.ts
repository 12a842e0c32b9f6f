import path from 'node:path';
import { expect, it } from 'vitest';
import { SyntaxParser } from '../../../src/adapters/preparation/syntax-parser.ts';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';
import { TaskGrader } from '../../../src/app/grading/task-grader.ts';
import { discoverCandidates } from '../../../src/app/preparation/discover-candidates.ts';
import type { InstalledDependencies } from '../../../src/app/preparation/preparation-context.ts';
import { TestRuns } from '../../../src/app/preparation/test-runs.ts';
import { isFullForm } from '../../support/full-form.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';
import { SAMPLES } from '../../support/repository-languages.ts';
import { filesOf } from '../../support/source-files.ts';

const PATIENCE_MS = 600_000;
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
    const own = { repository: 'sums', history: undefined, testSeconds: 300, parser: new SyntaxParser() };
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
