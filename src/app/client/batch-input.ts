import { glob } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { suggestNearest } from '../../adapters/files/nearest-path.ts';
import { readSuiteFile } from '../../adapters/files/suite-file.ts';
import type { OpenedBatch } from '../../faces/client/batch/batch.ts';
import { parseBatch } from '../../faces/client/batch/batch-file.ts';
import { planCheckpoints, planSuites, type BatchContext } from '../../faces/client/batch/batch-plan.ts';
import { nameCheckpoint } from '../../faces/client/named-checkpoint.ts';
import { readSuite } from './server-client.ts';

/** Reads a batch file and all that it names on this machine. Part of the composition root. @throws InputError when the file, or a suite or pattern in it, is wrong. */
export async function openBatch(path: string): Promise<OpenedBatch> {
  const file = parseBatch(await suggestNearest(path, () => readSuiteFile(path, 'batch')));
  const context = buildContext(dirname(resolve(path)));
  return {
    name:
      file.name ??
      basename(path)
        .replace(/\.(ya?ml|json)$/, '')
        .replace(/[^\w.-]/g, '-')
        .slice(0, 64),
    file,
    checkpoints: await planCheckpoints(file, context),
    suites: await planSuites(file, context),
    baseline: file.baseline === undefined ? undefined : resolveBaseline(file.baseline, context),
  };
}

function buildContext(directory: string): BatchContext {
  return {
    match: async (pattern) => sortPaths(await Array.fromAsync(glob(pattern, { cwd: directory }))),
    readSuite: (path) => readSuite(resolve(directory, path)),
    absolute: (path) => resolve(directory, path),
  };
}

/** Sorts step-9 before step-10. */
function sortPaths(paths: readonly string[]): readonly string[] {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return paths.toSorted(compare);
}

function resolveBaseline(baseline: string, context: BatchContext): string {
  return 'path' in nameCheckpoint(baseline) ? context.absolute(baseline) : baseline;
}
