import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LookThread } from '../../src/app/threads/look-thread.ts';
import { directLooks, type FileLooks, type FileStats } from '../../src/policy-distribution/files/file-looks.ts';
import { ScratchDirectory } from '../policy-distribution/scratch-directory.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manual-clock.ts';

const NAMES = ['file', 'directory', 'link', 'nowhere', 'pipe'];

afterEach(() => vi.restoreAllMocks());

async function scratchOfAll(): Promise<ScratchDirectory> {
  const scratch = await ScratchDirectory.make();
  await writeFile(join(scratch.path, 'file'), 'some bytes');
  await mkdir(join(scratch.path, 'directory'));
  await symlink('file', join(scratch.path, 'link'));
  await symlink('missing', join(scratch.path, 'nowhere'));
  execFileSync('mkfifo', [join(scratch.path, 'pipe')]);
  return scratch;
}

function told(stats: FileStats): object {
  const { dev, ino, nlink, size, mtimeNs, ctimeNs } = stats;
  const kinds = [stats.isFile(), stats.isDirectory(), stats.isFIFO(), stats.isSocket()];
  return { dev, ino, nlink, size, mtimeNs, ctimeNs, kinds };
}

/** What every look says of every kind of file, errors by their code. */
async function allOf(looks: FileLooks, directory: string): Promise<unknown> {
  const failed = (error: NodeJS.ErrnoException): unknown => error.code;
  const paths = NAMES.map((name) => join(directory, name));
  const of = (path: string): Promise<unknown[]> =>
    Promise.all([looks.real(path).catch(failed), looks.stats(path).then(told, failed), looks.ownStats(path).then(told, failed)]);
  const entries = (await looks.entries(directory)).map((entry) => `${entry.name} ${entry.isFile()}`).toSorted();
  return [await Promise.all(paths.map(of)), entries, await looks.entries(join(directory, 'file')).catch(failed)];
}

describe('a thread that looks at files', () => {
  it('says what looking directly does, of whatever there is', async () => {
    await using scratch = await scratchOfAll();
    // Time stands still: however long a busy machine takes to begin a thread, it is waited for.
    await using thread = new LookThread(new ManualClock());
    const direct = vi.spyOn(directLooks, 'stats');
    const found = await allOf(thread, scratch.path);
    expect(direct).not.toHaveBeenCalled();
    expect(found).toEqual(await allOf(directLooks, scratch.path));
  });

  it('is told at once what is asked at the same moment', async () => {
    await using scratch = await scratchOfAll();
    await using thread = new LookThread(new ManualClock());
    const posted = vi.spyOn(Worker.prototype, 'postMessage');
    await Promise.all(NAMES.map((name) => thread.ownStats(join(scratch.path, name))));
    expect(posted).toHaveBeenCalledTimes(1);
  });

  it('is not waited for when the disk keeps it for long, nor asked again until it has answered', async () => {
    await using scratch = await scratchOfAll();
    const clock = new ManualClock();
    await using thread = new LookThread(clock);
    const path = join(scratch.path, 'file');
    const posted = vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(() => undefined);
    const direct = vi.spyOn(directLooks, 'stats');
    const looked = thread.stats(path);
    await clock.advance(500);
    expect((await looked).size).toBe(10n);
    await thread.stats(path);
    expect(direct).toHaveBeenCalledTimes(2);
    expect(posted).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });

  it('is asked again once it has answered late', async () => {
    await using scratch = await scratchOfAll();
    const clock = new ManualClock();
    await using thread = new LookThread(clock);
    const path = join(scratch.path, 'file');
    vi.spyOn(directLooks, 'stats').mockRejectedValue(new Error('asked directly'));
    const posting = Promise.withResolvers<() => void>();
    vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(function (this: Worker, order: unknown) {
      posting.resolve(() => this.postMessage(order));
    });
    const late = thread.stats(path);
    const post = await posting.promise;
    await expect(Promise.all([late, clock.advance(500)])).rejects.toThrow('asked directly');
    post();
    await eventually('it has answered', () =>
      thread.stats(path).then(
        () => true,
        () => false,
      ),
    );
    await expect(thread.stats(path)).resolves.toMatchObject({ size: 10n });
  });

  it('leaves it to looking directly when it has ended', async () => {
    await using scratch = await scratchOfAll();
    const thread = new LookThread(new ManualClock());
    const path = join(scratch.path, 'file');
    await thread.stats(path);
    const looked = thread.stats(path);
    await thread[Symbol.asyncDispose]();
    expect((await looked).size).toBe(10n);
    expect((await thread.stats(path)).size).toBe(10n);
  });
});
