import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTaskDirectory } from '../../src/adapters/tasks/task-files.ts';
import { readTask } from '../../src/agents/tasks/read-task.ts';

const TOP = join(import.meta.dirname, '../../examples/code');
const names = readdirSync(TOP, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe('the example tasks', () => {
  it('are at least a dozen, and each has what shows that it is sound', async () => {
    const tasks = await Promise.all(names.map(async (name) => readTask(await readTaskDirectory(join(TOP, name)))));
    expect(tasks.length).toBeGreaterThanOrEqual(12);
    expect(tasks.map(({ id }) => id).sort()).toEqual(names.map((name) => `muster-examples/${name}`).sort());
    for (const { oracle, cheats, twins, workspace, steps } of tasks) {
      expect(oracle).toBeDefined();
      expect(Math.min(cheats.length, twins.length)).toBeGreaterThanOrEqual(1);
      expect([workspace.root.kind, workspace.network.mode]).toEqual(['host', 'none']);
      // Harbor judges the same task by a script.
      expect(steps.every(({ tests }) => tests.some(({ path }) => path === 'test.sh'))).toBe(true);
    }
  });

  it('are accepted without a notice, but for one that says in whose sandbox a script judges', async () => {
    const notices = await Promise.all(names.map(async (name) => readTask(await readTaskDirectory(join(TOP, name))).notices));
    expect([...new Set(notices.flat())]).toEqual([
      'verifier: graded in a sandbox of its own, also where Harbor would grade in the workspace',
    ]);
  });
});
