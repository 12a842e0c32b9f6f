import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { StepStore } from '../../../src/adapters/preparation/step-store.ts';
import { PYTHON } from '../../../src/agents/preparation/languages/python.ts';
import { traceFix } from '../../../src/agents/preparation/leaks.ts';
import type { SourceFiles } from '../../../src/agents/preparation/source/source-files.ts';
import { TaskGrader } from '../../../src/app/grading/task-grader.ts';
import { searchLeaks } from '../../../src/app/preparation/leak-search.ts';
import { PATIENCE_MS } from '../../support/prepared-repository.ts';
import { RepositoryFixture } from '../../support/repository-fixture.ts';
import { filesOf } from '../../support/source-files.ts';

const NO_FILES: SourceFiles = new Map();

it(
  'a fix is found in installed packages, in a dependency and in a vendored copy, and not in the code before it',
  async () => {
    await using made = await RepositoryFixture.make();
    await using grader = new TaskGrader(made.config);
    const tools = { sandboxes: grader.hostSandboxes, steps: new StepStore(path.join(made.directory, 'steps')) };
    // The fix is what Python's own library has.
    const [installed = ''] = (await Array.fromAsync(glob('/usr/lib/python3.*/colorsys.py'))).sort();
    const right = await readFile(installed, 'utf8');
    const wrong = right.replaceAll('0.30*r + 0.59*g + 0.11*b', '0.30*r').replaceAll('2.0-maxc-minc', '2.0-maxc');
    const before = filesOf({ 'colours.py': wrong, 'vendored/old_colours.py': wrong });
    const trace = traceFix(before, filesOf({ 'colours.py': right, 'vendored/old_colours.py': wrong }));
    const dependencies = filesOf({ '.dependencies/colours/__init__.py': right });
    const { releases } = PYTHON;
    const files = new Map([...before, ...filesOf({ 'vendored/colours.py': right })]);
    const found = await searchLeaks(tools, { files, dependencies, trace, releases }, AbortSignal.timeout(PATIENCE_MS));
    expect(found).toEqual(expect.arrayContaining(['/app/.dependencies/colours/__init__.py', '/app/vendored/colours.py', installed]));
    expect(found.filter((each) => each.startsWith('/app'))).toHaveLength(2);
    const clean = await searchLeaks(
      tools,
      { files: before, dependencies: NO_FILES, trace, releases: [] },
      AbortSignal.timeout(PATIENCE_MS),
    );
    expect(clean).toEqual([]);
  },
  PATIENCE_MS,
);
