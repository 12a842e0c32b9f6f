import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Sandbox as RemoteSandbox } from '@e2b/code-interpreter';
import type { Clock } from '../../../kernel/clock.ts';
import { RUNNER_INSIDE } from '../local/python-template.ts';
import { failureOf } from './failure.ts';
import { patiently } from './patience.ts';

/** Brings this Muster's own runner into a sandbox: a few dozen small files in one request. */
export async function uploadRunner(remote: RemoteSandbox, projectDirectory: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const directory = path.join(projectDirectory, 'runner');
  const files = await Promise.all(
    (await pythonFiles(directory)).map(async (file) => ({
      path: path.posix.join(RUNNER_INSIDE, file),
      data: await readFile(path.join(directory, file), 'utf8'),
    })),
  );
  try {
    await patiently(clock, signal, () => remote.files.writeFiles(files, { user: 'root', signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error, 'take in the runner');
  }
}

async function pythonFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true });
  return entries.filter((entry) => entry.endsWith('.py')).map((entry) => entry.split(path.sep).join('/'));
}
