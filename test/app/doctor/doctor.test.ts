import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import { formatDoctorText, getDoctorExitCode, runDoctor, type DoctorReport } from '../../../src/app/doctor/doctor.ts';
import type { Finding, HealthCheck } from '../../../src/kernel/health-check.ts';
import { createDiskCheck, createNodeCheck, openFilesCheck, createUserCheck } from '../../../src/app/doctor/machine-checks.ts';
import { createProviderCheck } from '../../../src/adapters/sandbox/capability-checks.ts';
import { createSandboxChecks, type SandboxCapabilities } from '../../../src/adapters/sandbox/bubblewrap/checks.ts';
import { createPythonCheck } from '../../../src/app/doctor/sandbox-checks.ts';

const signal = new AbortController().signal;
const check = (name: string, finding: Finding): HealthCheck => ({ name, run: async () => finding });
const run = (...checks: HealthCheck[]): Promise<DoctorReport> => runDoctor(checks, signal);
const findingOf = async (one: HealthCheck): Promise<Finding | undefined> => (await run(one)).checks[0];

describe('the report', () => {
  it('has one line a check, in the order of the checks, with the remedy below', async () => {
    const report = await run(
      check('Node', { status: 'ok', found: '24.21.0' }),
      check('user namespaces', { status: 'problem', found: 'forbidden\nby a setting', remedy: 'allow them' }),
      check('user', { status: 'warning', found: 'root', remedy: 'be another' }),
    );
    expect(formatDoctorText(report)).toBe(
      [
        'ok       Node             24.21.0',
        'PROBLEM  user namespaces  forbidden by a setting',
        '                          → allow them',
        'warning  user             root',
        '                          → be another',
        '',
        'This machine cannot run evaluations yet: 1 problem to solve.',
        '',
      ].join('\n'),
    );
  });

  it('reports to programs whether all is there, and each finding', async () => {
    const report = await run(check('Node', { status: 'ok', found: '24.21.0' }));
    expect(report).toEqual({ healthy: true, checks: [{ name: 'Node', status: 'ok', found: '24.21.0' }] });
  });

  it('ends with 0 when only warnings remain, with 3 when something needed is missing', async () => {
    const warned = await run(check('user', { status: 'warning', found: 'root' }));
    expect(getDoctorExitCode(warned)).toBe(0);
    expect(formatDoctorText(warned)).toContain('can run evaluations');
    expect(getDoctorExitCode(await run(check('a', { status: 'ok', found: '' }), check('b', { status: 'problem', found: '' })))).toBe(3);
  });

  it('shows a check that fails to run as a problem, and all other checks', async () => {
    const broken: HealthCheck = {
      name: 'broken',
      run: () => Promise.reject(new InfrastructureError('python.missing', 'no Python; run npm run setup')),
    };
    const report = await run(broken, check('Node', { status: 'ok', found: '24' }));
    expect(report.checks).toEqual([
      { name: 'broken', status: 'problem', found: 'no Python; run npm run setup' },
      { name: 'Node', status: 'ok', found: '24' },
    ]);
  });

  it('ends when it is cancelled, even during a check that ignores the signal', async () => {
    const stop = new AbortController();
    const deaf: HealthCheck = { name: 'deaf', run: () => new Promise<Finding>(() => undefined) };
    const running = runDoctor([deaf], stop.signal);
    stop.abort(new Error('interrupted'));
    await expect(running).rejects.toThrow('interrupted');
  });
});

describe('checks of the machine', () => {
  it.each([
    ['24.12.0', 'ok'],
    ['26.0.0', 'ok'],
    ['24.11.1', 'problem'],
    ['20.19.0', 'problem'],
  ])('Node %s is %s', async (version, status) => {
    expect(await findingOf(createNodeCheck(version))).toMatchObject({ status });
  });

  it.each([
    ['20000', 100, 'ok'],
    ['unlimited', 100_000, 'ok'],
    ['1024', 500, 'warning'],
    ['200', 1, 'problem'],
  ])('a limit of %s open files for %i sandboxes is %s', async (limit, sandboxes, status) => {
    const limits = async (): Promise<string> =>
      `Limit   Soft Limit  Hard Limit  Units\nMax open files            ${limit}   ${limit}   files\n`;
    expect(await findingOf(openFilesCheck(sandboxes, limits))).toMatchObject({ status });
  });

  it('names the pool that the limit of open files has room for', async () => {
    const finding = await findingOf(openFilesCheck(500, async () => 'Max open files            1024   1024   files\n'));
    expect(finding?.remedy).toContain('pool.max to 64 or less');
  });

  it('root gets a warning, other users do not', async () => {
    expect(await findingOf(createUserCheck(0))).toMatchObject({ status: 'warning' });
    expect(await findingOf(createUserCheck(1000))).toMatchObject({ status: 'ok' });
  });

  it('the disk is that of the state directory, which is created if it is missing', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const stateDir = join(directory, 'not/yet/there');
    expect((await findingOf(createDiskCheck(stateDir)))?.found).toMatch(/GiB free at .*not\/yet\/there$/);
    expect(await findingOf(createDiskCheck(join(import.meta.filename, 'state')))).toMatchObject({
      status: 'problem',
      remedy: expect.stringContaining('MUSTER_STATE_DIR'),
    });
  });
});

describe('checks of the sandboxes', () => {
  const tree = { scope: 'tree', by: 'cgroup-v2' } as const;
  const capable: SandboxCapabilities = {
    bubblewrap: { state: 'available', detail: '/usr/bin/bwrap 0.11.0' },
    namespaces: { state: 'available', detail: 'a sandbox could be made' },
    forking: { state: 'available', detail: 'a sandbox could be made from within another' },
    cgroups: { state: 'available', detail: 'cgroup-v2: memory, processes, cpu' },
    limits: { memory: tree, processes: tree, cpu: tree, disk: { scope: 'tree', by: 'tmpfs' }, lifetime: { scope: 'tree', by: 'timer' } },
  };

  it('run their probe once for all checks', async () => {
    let probes = 0;
    const report = await run(
      ...createSandboxChecks(async () => {
        probes += 1;
        return capable;
      }),
    );
    expect(report.checks.map(({ name, status }) => [name, status])).toEqual([
      ['bubblewrap', 'ok'],
      ['user namespaces', 'ok'],
      ['forked sandboxes', 'ok'],
      ['limits', 'ok'],
    ]);
    expect(probes).toBe(1);
  });

  it('report a machine without bubblewrap, with the remedy', async () => {
    const missing = { state: 'missing', detail: 'bwrap is not installed', remedy: 'apt install bubblewrap' } as const;
    const report = await run(...createSandboxChecks(async () => ({ ...capable, bubblewrap: missing })));
    expect(report.checks[0]).toMatchObject({ status: 'problem', found: 'bwrap is not installed', remedy: 'apt install bubblewrap' });
    expect(getDoctorExitCode(report)).toBe(3);
  });

  it('warn that sandboxes start without forking if they cannot be forked', async () => {
    const forking = { state: 'missing', detail: 'mount: permission denied', remedy: 'allow it' } as const;
    const report = await run(...createSandboxChecks(async () => ({ ...capable, forking })));
    expect(report.checks[2]).toMatchObject({
      name: 'forked sandboxes',
      status: 'warning',
      found: 'mount: permission denied',
      remedy: 'allow it',
    });
  });

  it('warn, without a failure, when limits do not hold for the whole sandbox', async () => {
    const limits = { ...capable.limits, memory: { scope: 'process', by: 'rlimit' }, cpu: { scope: 'none', by: 'none' } } as const;
    const cgroups = { state: 'missing', detail: 'not delegated', remedy: 'delegate a group' } as const;
    const report = await run(...createSandboxChecks(async () => ({ ...capable, limits, cgroups })));
    expect(report.checks[3]).toMatchObject({ status: 'warning', remedy: 'delegate a group (not delegated)' });
    expect(report.checks[3]?.found).toBe(
      'memory: rlimit, for each process only, processes: cgroup-v2, cpu: not enforced, disk: tmpfs, lifetime: timer',
    );
    expect(getDoctorExitCode(report)).toBe(0);
  });

  it('accept a machine without gVisor, unless a template names it', async () => {
    const missing = async () => ({ state: 'missing', detail: 'runsc is not installed', remedy: 'apt install runsc' }) as const;
    expect(await findingOf(createProviderCheck('gVisor', [], missing))).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('no template names it'),
    });
    expect(await findingOf(createProviderCheck('gVisor', ['walled'], missing))).toMatchObject({
      status: 'problem',
      found: 'runsc is not installed; templates that name it: walled',
      remedy: 'apt install runsc',
    });
    const there = async () => ({ state: 'available', detail: '/usr/bin/runsc on the platform systrap' }) as const;
    expect(await findingOf(createProviderCheck('gVisor', ['walled'], there))).toMatchObject({
      status: 'ok',
      found: '/usr/bin/runsc on the platform systrap',
    });
  });

  it('name the interpreter and its packages', async () => {
    const modules = { gymnasium: { state: 'imported', version: '1.4.0' }, json: { state: 'imported', version: null } };
    const inspected = createPythonCheck('local', async () => ({ executable: '/x/python', version: [3, 11, 7], modules }));
    expect(await findingOf(inspected)).toMatchObject({ name: 'Python', found: '3.11.7 at /x/python with gymnasium 1.4.0, json' });
  });
});
