import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { clusterPods } from '../../bench/cluster-pods.ts';
import { podTransports } from '../../bench/pod-transports.ts';
import { clusterUnderTest } from '../cluster/cluster-under-test.ts';
import { REPOSITORY } from '../end-to-end/stage.ts';

/** Of the modules in a directory that are run by benchmarks: what they import, but for the standard library and one another. */
const IMPORTS = `
import ast, json, pathlib, sys
files = [file for name in sys.argv[1:] for file in pathlib.Path(name).glob("*.py")]
names = set()
for node in (node for file in files for node in ast.walk(ast.parse(file.read_text()))):
    if isinstance(node, ast.Import):
        names.update(each.name.partition(".")[0] for each in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        names.add(node.module.partition(".")[0])
print(json.dumps(sorted(names - set(sys.stdlib_module_names) - {file.stem for file in files})))
`;

it('what the benchmarks’ policies and environments import is installed by "npm run bench"', () => {
  const directories = ['bench/policies', 'bench/environments'].map((name) => path.join(REPOSITORY, name));
  const imported = z.array(z.string()).parse(JSON.parse(execFileSync('python3', ['-c', IMPORTS, ...directories], { encoding: 'utf8' })));
  const installed = new Set(
    ['runner/requirements.txt', 'bench/requirements.txt']
      .map((file) => readFileSync(path.join(REPOSITORY, file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/^(?<name>[\w.-]+)==/gm)].map(({ groups }) => groups?.['name'])),
  );
  expect(imported).toContain('onnx');
  // The runner itself is in the checkout.
  expect(imported.filter((name) => name !== 'muster_runner' && !installed.has(name))).toEqual([]);
});

it.runIf(clusterUnderTest.MUSTER_CLUSTER_IMAGE === undefined)('benchmarks of a cluster say what to set where there is none', async () => {
  const measured = (name: string): never => {
    throw new Error(`${name} was measured`);
  };
  for (const benchmark of [clusterPods, podTransports]) {
    expect(benchmark.measurements(true)).toEqual([]);
    const { tables, notes } = await benchmark.run({ quick: true, say: () => undefined, measured });
    expect({ tables, notes }).toEqual({
      tables: [],
      notes: [expect.stringMatching(/needs a cluster: set MUSTER_CLUSTER_IMAGE to an image/)],
    });
  }
});
