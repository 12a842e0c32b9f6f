import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CgroupFiles } from '../../src/adapters/sandbox/local/cgroups/cgroup-files.ts';
import { detectCgroups } from '../../src/adapters/sandbox/local/cgroups/cgroup-layout.ts';
import { OwnerCgroups } from '../../src/adapters/sandbox/local/cgroups/owner-cgroups.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import { ImitatedCgroups } from '../support/imitated-cgroups.ts';
import { SkippableClock } from '../support/skippable-clock.ts';

const LIMITS = { memoryBytes: 64_000_000, processes: 8, cpus: 0.5, diskBytes: 1e6, lifetimeSeconds: 60 };

// These run against a directory tree that imitates a delegated version 2 hierarchy, and so on any machine. What the kernel
// makes of the files is tested, for the hierarchy that the machine has, by the contract.
describe('control groups of version 2, imitated', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'muster-cgroup-'));
    await mkdir(path.join(root, 'user/app/muster.scope'), { recursive: true });
    for (const group of ['', 'user', 'user/app', 'user/app/muster.scope']) {
      for (const file of ['cgroup.procs', 'cgroup.subtree_control']) await writeFile(path.join(root, group, file), '');
    }
  });
  afterEach(() => rm(root, { recursive: true }));

  /** As a service manager does for a user: every group down to `user` hands on what there is. */
  async function delegated(...controllers: readonly string[]): Promise<ImitatedCgroups> {
    const files = new ImitatedCgroups(root, controllers, ['user/app/muster.scope']);
    for (const group of ['', 'user']) {
      for (const controller of controllers) await files.write(path.join(root, group, 'cgroup.subtree_control'), `+${controller}`);
    }
    return files;
  }

  const surroundings = (files: ImitatedCgroups) => ({
    files,
    membership: '0::/user/app/muster.scope\n',
    mounts: `35 31 0:32 / ${root} rw,relatime - cgroup2 cgroup2 rw\n`,
  });

  it('the nearest ancestor that can delegate the controllers holds the groups', async () => {
    const files = await delegated('memory', 'pids', 'cpu');
    const { layout, obstacles } = await detectCgroups(surroundings(files));
    const base = path.join(root, 'user/app/muster');
    expect(layout).toEqual({
      version: 'cgroup-v2',
      bases: new Map([
        ['memory', base],
        ['processes', base],
        ['cpu', base],
      ]),
    });
    expect(obstacles).toEqual([]);
    expect(await readdir(path.join(root, 'user/app'))).not.toContain('muster');
  });

  it('without the processor controller, memory and processes are still limited, and the gap is reported', async () => {
    const files = await delegated('memory', 'pids');
    const { layout, obstacles } = await detectCgroups(surroundings(files));
    expect([...(layout?.bases.keys() ?? [])]).toEqual(['memory', 'processes']);
    expect(obstacles.join()).toContain('cpu');
  });

  it('a hierarchy that was not delegated is not used', async () => {
    const files = new ImitatedCgroups(root, ['memory', 'pids', 'cpu'], ['', 'user', 'user/app', 'user/app/muster.scope']);
    const { layout, obstacles } = await detectCgroups(surroundings(files));
    expect(layout).toBeUndefined();
    expect(obstacles).not.toEqual([]);
  });

  it('a sandbox’s group has every limit set, swap closed, and is killed and removed as a whole', async () => {
    const files = await delegated('memory', 'pids', 'cpu');
    const { layout } = await detectCgroups(surroundings(files));
    if (!layout) throw new Error('no layout');
    const owner = new OwnerCgroups(layout, parseOwnerId('owner'), files, new SkippableClock());
    await owner.open();
    const group = await owner.create(parseSandboxId('one'), LIMITS);
    const place = 'user/app/muster/owner/one';
    expect(files.writes.toSorted()).toEqual([
      `${place}/cpu.max: 50000 100000`,
      `${place}/memory.max: 64000000`,
      `${place}/memory.swap.max: 0`,
      `${place}/pids.max: 8`,
    ]);
    expect(group.memberFiles).toEqual([path.join(root, place, 'cgroup.procs')]);
    await writeFile(path.join(root, place, 'memory.events'), 'oom 3\noom_kill 2\n');
    expect(await group.countMemoryKills()).toBe(2);
    await group.kill();
    expect(await readFile(path.join(root, place, 'cgroup.kill'), 'utf8')).toBe('1');
    await group.remove(new SkippableClock());
    await owner.close();
    expect(await readdir(path.join(root, 'user/app'))).not.toContain('muster');
  });
});

describe('finding control groups', () => {
  it('a machine without any says so', async () => {
    const files = new ImitatedCgroups('/nowhere', [], []);
    const { layout, obstacles } = await detectCgroups({ files, membership: '', mounts: '' });
    expect(layout).toBeUndefined();
    expect(obstacles).toHaveLength(3);
  });

  it('a version 1 hierarchy of another user is not used: groups cannot be made in it', async () => {
    const base = '/cg/memory/muster';
    const refuses: CgroupFiles = {
      makeDirectory: (group) => Promise.reject(Object.assign(new Error(group), { code: group === base ? 'EEXIST' : 'EACCES' })),
      removeDirectory: (group) => Promise.reject(Object.assign(new Error(group), { code: 'EACCES' })),
      listChildren: () => Promise.resolve([]),
      read: () => Promise.resolve('0'),
      write: () => Promise.resolve(true),
    };
    const mounts = '35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n';
    const { layout, obstacles } = await detectCgroups({ files: refuses, membership: '4:memory:/\n', mounts });
    expect(layout).toBeUndefined();
    expect(obstacles.join()).toContain(`${base}/_probe-`);
  });
});
