import { execFile } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { allocateAligned } from '../../src/policy-distribution/files/direct-files.ts';
import { DirectWriter } from '../../src/policy-distribution/files/direct-writer.ts';
import { ScratchDirectory } from './scratch-directory.ts';

const run = promisify(execFile);
const MIB = 2 ** 20;

interface Fixture extends AsyncDisposable {
  readonly path: string;
  readonly writer: DirectWriter;
  /** Writes so many blocks, each of which takes so long; whether the last of them was written this way. */
  writes(blocks: number, milliseconds: number): Promise<boolean>;
}

/** A file that writes go to past the page cache, on a disk as slow as wished. */
async function sceneOf(): Promise<Fixture> {
  const scratch = await ScratchDirectory.make();
  const path = join(scratch.path, 'copy');
  const handle = await open(path, 'wx+');
  let late = 0;
  const writer = await DirectWriter.open(handle, { ...systemClock, now: () => late });
  if (!writer) throw new Error(`${path} can only be written through the page cache`);
  let position = 0;
  return {
    path,
    writer,
    writes: async (blocks, milliseconds) => {
      let written = 0;
      for (let block = 0; block < blocks; block += 1) {
        const writing = writer.write(blockOf(position / MIB), position);
        late += milliseconds;
        written = await writing;
        position += MIB;
      }
      return written === MIB;
    },
    [Symbol.asyncDispose]: async () => {
      await writer[Symbol.asyncDispose]();
      await handle.close();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

function blockOf(value: number): Uint8Array {
  return new Uint8Array(allocateAligned(MIB)).fill(value);
}

describe('writing past the page cache', () => {
  it('puts each block where it belongs, and nothing into the page cache', async () => {
    await using fixture = await sceneOf();
    expect(await fixture.writes(3, 0)).toBe(true);
    const { stdout } = await run('fincore', ['--bytes', '--noheadings', '--output', 'RES', fixture.path]);
    expect(Number(stdout)).toBe(0);
    const written = await readFile(fixture.path);
    expect([written.length, written[0], written[MIB], written[2 * MIB]]).toEqual([3 * MIB, 0, 1, 2]);
  });

  it('continues for as long as the disk keeps up', async () => {
    await using fixture = await sceneOf();
    expect(await fixture.writes(80, 3)).toBe(true);
  });

  it('ends when the disk turns out to be slow, after a fifth of a second', async () => {
    await using fixture = await sceneOf();
    expect(await fixture.writes(20, 10)).toBe(true);
    expect(await fixture.writes(1, 0)).toBe(false);
    expect((await readFile(fixture.path)).length).toBe(20 * MIB);
  });

  it('ends when a disk that was fast becomes slow', async () => {
    await using fixture = await sceneOf();
    expect(await fixture.writes(64, 1)).toBe(true);
    expect(await fixture.writes(64, 8)).toBe(false);
  });

  it('lets a disk begin slowly, and pause', async () => {
    await using fixture = await sceneOf();
    await fixture.writes(8, 5);
    await fixture.writes(1, 50);
    expect(await fixture.writes(91, 0.5)).toBe(true);
  });

  it('leaves writes that do not begin at a page or a sector to the page cache', async () => {
    await using fixture = await sceneOf();
    expect(await fixture.writer.write(new Uint8Array(allocateAligned(MIB + 8), 8), 0)).toBe(0);
    expect(await fixture.writes(1, 0)).toBe(false);
  });

  it('is not used for a file that cannot be opened that way', async () => {
    expect(await DirectWriter.open({ fd: 1_000_000 }, systemClock)).toBeUndefined();
  });
});
