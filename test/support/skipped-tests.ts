import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * What the set-up installs for the tests is there in CI, or the set-up has failed: tests that stand on it are never skipped there. Others need
 * what a machine may lack (control groups, gVisor, a key).
 */
const NEVER_SKIPPED = /(^|\/)(.*postgres.*|.*store.*|chaos|fuzz|hostile-requests|serve.*|shared-store|webhooks?|results)\.test\.ts$/;

/**
 * In CI tells how many tests of which file were not run, so that none is missing silently, and fails when one of them has to be. It stands before
 * the default reporter, whose counts are the last lines of the output.
 */
export class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (process.env['CI'] === undefined) return;
    const skipped = modules
      .map((module) => ({ file: path.relative('.', module.moduleId), count: [...module.children.allTests('skipped')].length }))
      .filter(({ count }) => count > 0);
    for (const { file, count } of skipped) process.stdout.write(`not run: ${file}: ${count} ${count === 1 ? 'test' : 'tests'}\n`);
    const missing = skipped.filter(({ file }) => NEVER_SKIPPED.test(file));
    if (missing.length === 0) return;
    process.stdout.write(
      `${missing.map(({ file }) => file).join(', ')}: to be run in CI: what they need is installed by "node scripts/setup.mjs --test"\n`,
    );
    process.exitCode = 1;
  }
}
