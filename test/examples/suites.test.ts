import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { suiteSchema } from '../../src/orchestrator/suite/suite.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));

/** No suite: it names some. */
const BATCH = 'batch.yaml';
/** Its tasks are for agents (test/end-to-end/agent-suites.test.ts). */
const OF_AGENTS = 'code/suite.yaml';
const SUITES = ['game/cartpole.yaml', 'game/pendulum.yaml', 'recommendations/suite.yaml', 'inventory/suite.yaml'];

function suiteOf(path: string) {
  return suiteSchema.parse(parse(readFileSync(join(EXAMPLES, path), 'utf8')));
}

describe('the suites of the examples', () => {
  it('are all in this test', () => {
    const found = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
    expect(found.toSorted()).toEqual([...SUITES, OF_AGENTS, BATCH].toSorted());
  });

  it.each(SUITES)('%s is a suite with bounds and a limit on what it costs', (path) => {
    const suite = suiteOf(path);
    expect(suite.reward.bounds).toBeDefined();
    expect(suite.stop.rule === 'fixed' || suite.budget.episodes !== undefined).toBe(true);
  });

  it.each(SUITES)('%s names only modules that it ships', (path) => {
    const suite = suiteOf(path);
    const environments = Array.isArray(suite.tasks) ? suite.tasks.map((task) => task.environment) : [suite.environment];
    for (const environment of environments) {
      const module = environment?.entry.split(':')[0];
      if (module === 'gymnasium') continue;
      expect(existsSync(join(EXAMPLES, dirname(path), suite.files ?? '', `${module}.py`)), `${path}: ${module}`).toBe(true);
    }
  });
});
