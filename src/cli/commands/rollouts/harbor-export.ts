import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createFormatter } from '../../../agents/rollouts/formats/formats.ts';
import { HarborJob } from '../../../agents/rollouts/formats/harbor-job.ts';
import type { Trajectory } from '../../../agents/rollouts/record/trajectory.ts';
import { getReason } from '../../../kernel/errno.ts';
import { InputError } from '../../../kernel/errors.ts';

/**
 * Writes trajectories as a job of Harbor, one directory each.
 *
 * @param out a new directory. @returns how many were written. @throws InputError `out.unusable`
 */
export async function exportHarborJob(trajectories: AsyncIterable<Trajectory>, out: string | undefined): Promise<number> {
  if (out === undefined)
    throw new InputError('out.missing', '--out: a job of Harbor is a directory; expected the path of a new one, such as jobs/qwen');
  const directory = path.resolve(out);
  await make(directory);
  const job = new HarborJob(path.basename(directory), pathToFileURL(directory).href);
  const atif = createFormatter('atif');
  let written = 0;
  for await (const trajectory of trajectories) {
    const { name, config, result, rewards } = job.add(trajectory);
    const trial = path.join(directory, name);
    await make(trial);
    await write(path.join(trial, 'config.json'), config);
    for (const document of atif.format(trajectory) ?? []) {
      await make(path.join(trial, 'agent'));
      await write(path.join(trial, 'agent/trajectory.json'), document);
    }
    await make(path.join(trial, 'verifier'));
    if (rewards) await write(path.join(trial, 'verifier/reward.json'), rewards);
    await write(path.join(trial, 'verifier/test-stdout.txt'), trajectory.verdict ?? '');
    await write(path.join(trial, 'result.json'), result);
    written += 1;
  }
  await write(path.join(directory, 'config.json'), job.config);
  await write(path.join(directory, 'result.json'), job.result);
  return written;
}

async function make(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    throw new InputError('out.unusable', `--out: ${directory} cannot be made: ${getReason(error, directory)}; name a new directory`, {
      cause: error,
    });
  }
}

async function write(file: string, content: object | string): Promise<void> {
  await writeFile(file, typeof content === 'string' ? content : `${JSON.stringify(content)}\n`);
}
