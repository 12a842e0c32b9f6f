import { readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CgroupFiles } from '../../../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { removeOrphanedGroups } from '../../../../src/adapters/sandbox/local/cgroups/orphaned-groups.ts';
import { ImitatedCgroups } from '../../../support/imitated-cgroups.ts';
import { SkippableClock } from '../../../support/skippable-clock.ts';

/** One more than the largest process id that Linux gives. */
const NOBODY = 4_194_305;
const ORPHAN = `muster-${NOBODY}-0123abcd`;
/** Elsewhere not all processes are to be seen. */
const seesAll = readlinkSync('/proc/self/ns/pid') === 'pid:[4026531836]';

describe.runIf(seesAll)('control groups of Musters without a record', () => {
  let base: string;
  let files: ImitatedCgroups;
  beforeEach(async () => {
    base = await mkdtemp(path.join(tmpdir(), 'muster-cgroup-'));
    files = new ImitatedCgroups(base, [], []);
    await writeFile(path.join(base, 'cgroup.subtree_control'), '');
  });
  afterEach(() => rm(base, { recursive: true }));

  async function group(name: string): Promise<void> {
    await mkdir(path.join(base, path.dirname(name)), { recursive: true });
    await files.makeDirectory(path.join(base, name));
  }

  const sweep = (using: CgroupFiles = files, recorded: readonly string[] = []): Promise<void> =>
    removeOrphanedGroups({
      layout: { version: 'cgroup-v2', bases: new Map([['memory', base]]) },
      files: using,
      recorded: new Set(recorded),
      clock: new SkippableClock(),
    });

  it('are removed with those of their sandboxes when no process has the owner’s id', async () => {
    await group(ORPHAN);
    await group(`${ORPHAN}/s1`);
    await group(`${ORPHAN}/s2`);
    await sweep();
    expect(await files.listChildren(base)).toEqual([]);
  });

  it.each([
    ['whose process id a process has', `muster-${process.pid}-0123abcd`, []],
    ['which the state directory knows', ORPHAN, [ORPHAN]],
    ['which were not named by a Muster', 'my-own-group', []],
  ])('stay, those %s', async (_, name, recorded) => {
    await group(name);
    await group(`${name}/s1`);
    await sweep(files, recorded);
    expect(await files.listChildren(base)).toEqual([name]);
    expect(await files.listChildren(path.join(base, name))).toEqual(['s1']);
  });

  it('stay when they are another user’s, and delay nothing', async () => {
    await group(ORPHAN);
    await group(`bench-${NOBODY}-0123abcd`);
    const refuses: CgroupFiles = {
      makeDirectory: (at) => files.makeDirectory(at),
      listChildren: (at) => files.listChildren(at),
      read: (at) => files.read(at),
      write: (at, text) => files.write(at, text),
      removeDirectory: (at) =>
        at.includes(ORPHAN) ? Promise.reject(Object.assign(new Error(at), { code: 'EACCES' })) : files.removeDirectory(at),
    };
    await sweep(refuses);
    expect(await files.listChildren(base)).toEqual([ORPHAN]);
  });
});
