import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeAll } from '../src/policy-distribution/files/store-files.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { PYTHON } from './machine.ts';

const run = promisify(execFile);

/** A directory of checkpoints that a training run leaves; it is gone at the end. */
export class CheckpointFiles implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(): Promise<CheckpointFiles> {
    return new CheckpointFiles(await mkdtemp(join(tmpdir(), 'muster-bench-')));
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** @param words as bench/policies/training_run.py has them. */
  async trained(...words: readonly string[]): Promise<void> {
    await run(PYTHON, [join(PACKAGE_ROOT, 'bench/policies/training_run.py'), ...words]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

export interface Timed {
  readonly seconds: number;
  /** Of processors, all threads of this process together. */
  readonly processorSeconds: number;
  /** Of those, the kernel's: copying into the page cache, and getting memory for it. */
  readonly kernelSeconds: number;
}

export async function timed(work: () => Promise<unknown>): Promise<Timed> {
  const [began, used] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(used);
  return { seconds: (performance.now() - began) / 1000, processorSeconds: (user + system) / 1e6, kernelSeconds: system / 1e6 };
}

/** As a plain program would: sequentially, a mebibyte at a time. @returns the file's SHA-256. */
export async function readAndHash(path: string): Promise<string> {
  await using file = await open(path);
  const [hash, buffer] = [createHash('sha256'), Buffer.alloc(2 ** 20)];
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
  }
}

/** As a plain program would, too: the copy is in the page cache when it returns, and nothing is known of it. */
export async function written(from: string, to: string): Promise<void> {
  await using source = await open(from);
  await using target = await open(to, 'wx');
  const buffer = Buffer.alloc(2 ** 20);
  for (;;) {
    const { bytesRead } = await source.read(buffer);
    if (bytesRead === 0) return;
    await writeAll(target, buffer.subarray(0, bytesRead));
  }
}

/** A copy that is on the disk when it returns. */
export async function copied(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await using file = await open(to, 'r');
  await file.sync();
}

export async function readHash(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
