import { glob, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSeededRandom, drawIndex } from '../../../src/kernel/seeded-random.ts';
import { extent, isFullForm } from '../../support/full-form.ts';
import { PATIENCE_MS } from '../../support/prepared-repository.ts';
import { RepositoryFixture, SUMS } from '../../support/repository-fixture.ts';
import { MusterCommand } from '../muster-command.ts';

const SEED = 20261124;
const KILLS = extent({ short: 0, full: 6, variable: 'MUSTER_TEST_KILLS' });

async function countSteps(state: string): Promise<number> {
  return (await Array.fromAsync(glob('preparation/steps/*/*.json', { cwd: state }))).length;
}

/** Every file that was made, with its content and mode, but for the reports: they say how long it took. */
async function readTasks(out: string): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const file of (await Array.fromAsync(glob('**/*', { cwd: out }))).sort()) {
    const found = await stat(path.join(out, file));
    if (found.isFile() && !file.startsWith('report.')) files[file] = `${found.mode} ${await readFile(path.join(out, file), 'base64')}`;
  }
  return files;
}

function start(made: RepositoryFixture, name: string): MusterCommand {
  const command = ['./muster', 'prepare', made.repository, '--out', path.join(made.directory, name)];
  const environment = { MUSTER_STATE_DIR: path.join(made.directory, `${name}-state`) };
  return new MusterCommand(command, { environment, deadlineMs: PATIENCE_MS });
}

describe.runIf(isFullForm)('a preparation', () => {
  it(
    `that is killed ${KILLS} times and started again makes the same tasks, byte for byte, on which the oracle scores 1 and nop 0`,
    async () => {
      await using made = await RepositoryFixture.make();
      await made.commit('Begin with sums', SUMS.before);
      await made.commit(SUMS.message, SUMS.fix);
      await using undisturbed = start(made, 'undisturbed');
      expect((await undisturbed.ended).exitCode).toBe(0);
      const steps = await countSteps(path.join(made.directory, 'undisturbed-state'));
      const random = createSeededRandom('kills of a preparation', SEED);
      // The last step is the gate of one of the tasks, and takes long.
      const points = Array.from({ length: KILLS }, () => 1 + drawIndex(random, steps - 1)).toSorted((a, b) => a - b);
      for (const point of points) {
        await using killed = start(made, 'killed');
        while (!killed.hasEnded && (await countSteps(path.join(made.directory, 'killed-state'))) < point) await pause(20);
        killed.signalGroup('SIGKILL');
        expect((await killed.ended).signal).toBe('SIGKILL');
      }
      await using last = start(made, 'killed');
      expect((await last.ended).exitCode).toBe(0);
      const tasks = await readTasks(path.join(made.directory, 'undisturbed'));
      expect(Object.keys(tasks).filter((file) => file.endsWith('/task.toml'))).toHaveLength(1);
      expect(await readTasks(path.join(made.directory, 'killed'))).toEqual(tasks);
      const report: unknown = JSON.parse(await readFile(path.join(made.directory, 'killed/report.json'), 'utf8'));
      expect(report).toMatchObject({
        proof: [
          { agent: 'oracle', episodes: 2, mean: 1, isAsExpected: true },
          { agent: 'nop', episodes: 2, mean: 0, isAsExpected: true },
        ],
      });
    },
    PATIENCE_MS,
  );
});
