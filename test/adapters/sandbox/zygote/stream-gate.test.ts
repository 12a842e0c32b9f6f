import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Admission, type ProgramStreams, StreamGate } from '../../../../src/adapters/sandbox/zygote/stream-gate.ts';
import { eventually } from '../../../support/eventually.ts';

// Its sockets, also those of a file system, do not connect before something is written. No one here speaks HTTP.
nock.restore();

const STREAMS = ['stdin', 'stdout', 'stderr'] as const;

let directory: string;
let gate: StreamGate;
let descriptors: number;
const visitors: Socket[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'muster-gate-'));
  descriptors = await openDescriptors();
  gate = await StreamGate.open(directory);
});
afterEach(async () => {
  for (const visitor of visitors.splice(0)) visitor.destroy();
  await gate[Symbol.asyncDispose]();
  await eventually('no descriptor is left open', async () => (await openDescriptors()) <= descriptors);
  await rm(directory, { recursive: true });
});

const openDescriptors = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

async function visit(place = directory): Promise<Socket> {
  const visitor = connect({ path: path.join(place, '_warden.sock') });
  visitors.push(visitor);
  // A visitor that is turned away may see a reset.
  visitor.on('error', () => {});
  await once(visitor, 'connect');
  return visitor;
}

/** Connects and says who it is; what comes after the line feed is the program's. */
async function greet(greeting: string, place = directory): Promise<Socket> {
  const visitor = await visit(place);
  visitor.write(greeting);
  return visitor;
}

/** Waits until it is. */
async function isTurnedAway(visitor: Socket): Promise<boolean> {
  visitor.resume();
  if (!visitor.closed) await once(visitor, 'close').catch(() => undefined);
  return visitor.closed;
}

async function admitted(
  { token, streams }: Admission,
  place = directory,
): Promise<{ readonly streams: ProgramStreams; readonly ends: readonly Socket[] }> {
  const ends = await Promise.all(STREAMS.map((name) => greet(`${token} ${name}\n`, place)));
  return { streams: await streams, ends };
}

function leave(streams: ProgramStreams): void {
  for (const stream of Object.values(streams)) stream.destroy();
}

describe('the gate for the streams of forked programs', () => {
  it('assigns each stream to its sandbox, in whatever order and pieces they come', async () => {
    using admission = gate.expect();
    const { token } = admission;
    await greet(`${token} stderr\nthe first words`);
    const half = await greet(token.slice(0, 20));
    await greet(`${token} stdin\n`);
    half.write(token.slice(20));
    half.write(' stdout');
    half.write('\n');
    half.write('output');
    const streams = await admission.streams;
    expect(String(await once(streams.stderr, 'data'))).toBe('the first words');
    expect(String(await once(streams.stdout, 'data'))).toBe('output');
    leave(streams);
  });

  it('keeps the streams of many sandboxes that arrive at the same time apart', async () => {
    const admissions = Array.from({ length: 50 }, () => gate.expect());
    await Promise.all(admissions.flatMap(({ token }) => STREAMS.map((name) => greet(`${token} ${name}\n${token} ${name}`))));
    for (const { token, streams } of admissions) {
      const arrived = await streams;
      for (const name of ['stdout', 'stderr'] as const) expect(String(await once(arrived[name], 'data'))).toBe(`${token} ${name}`);
      leave(arrived);
    }
  });

  it.each([
    ['with an unknown token', () => `${'0'.repeat(64)} stdout\n`],
    ['with no token', () => ' stdout\n'],
    ['with a stream that there is none of', (token: string) => `${token} stdother\n`],
    ['with a token and no stream', (token: string) => `${token}\n`],
    ['with the name of a property that every object has', () => '__proto__ constructor\n'],
    ['with an empty line', () => '\n'],
    ['with a greeting that does not end', () => 'x'.repeat(1000)],
    ['with bytes that are no text', () => Buffer.alloc(72, 0xff).toString('latin1')],
  ])('turns a visitor away that comes %s, and lets the honest ones in afterwards', async (_, greeting) => {
    using admission = gate.expect();
    expect(await isTurnedAway(await greet(greeting(admission.token)))).toBe(true);
    leave((await admitted(admission)).streams);
  });

  it('admits a stream once: a second connection with the token is refused', async () => {
    using admission = gate.expect();
    await greet(`${admission.token} stdin\n`);
    await greet(`${admission.token} stdout\nthe first`);
    expect(await isTurnedAway(await greet(`${admission.token} stdout\nthe second`))).toBe(true);
    await greet(`${admission.token} stderr\n`);
    const streams = await admission.streams;
    expect(String(await once(streams.stdout, 'data'))).toBe('the first');
    leave(streams);
  });

  it('forgets a token when its streams have come', async () => {
    using admission = gate.expect();
    const { streams } = await admitted(admission);
    for (const name of STREAMS) expect(await isTurnedAway(await greet(`${admission.token} ${name}\n`))).toBe(true);
    leave(streams);
  });

  it('forgets a withdrawn token, and ends the streams that had arrived', async () => {
    const admission = gate.expect();
    const early = await greet(`${admission.token} stdout\n`);
    expect(await isTurnedAway(await greet('nonsense\n'))).toBe(true);
    admission[Symbol.dispose]();
    await expect(admission.streams).rejects.toHaveProperty('code', 'sandbox.gone');
    expect(await isTurnedAway(early)).toBe(true);
    expect(await isTurnedAway(await greet(`${admission.token} stderr\n`))).toBe(true);
  });

  it('keeps delivered streams open when their admission is disposed', async () => {
    const admission = gate.expect();
    const { streams, ends } = await admitted(admission);
    admission[Symbol.dispose]();
    ends[1]?.write('still here');
    expect(String(await once(streams.stdout, 'data'))).toBe('still here');
    leave(streams);
  });

  it('forgets connections that end or fall silent before they are identified', async () => {
    const before = await openDescriptors();
    for (let i = 0; i < 50; i += 1) {
      const visitor = await greet('half a greet');
      if (i % 2 === 0) visitor.destroy();
      else visitor.end();
      expect(await isTurnedAway(visitor)).toBe(true);
    }
    await eventually('the gate has let go of them', async () => (await openDescriptors()) <= before);
    using admission = gate.expect();
    leave((await admitted(admission)).streams);
  });

  it('does not wait for a silent connection when it is closed', async () => {
    const silent = await visit();
    await gate[Symbol.asyncDispose]();
    expect(await isTurnedAway(silent)).toBe(true);
    gate = await StreamGate.open(await mkdtemp(path.join(directory, 'next-')));
  });

  it('opens in a directory whose path is too long for a socket’s name', async () => {
    const deep = await mkdtemp(path.join(directory, `${'deep'.repeat(40)}-`));
    await using other = await StreamGate.open(deep);
    expect(await readdir(deep)).toEqual(['_warden.sock']);
    void other;
  });
});

describe('a gate with many unidentified connections', () => {
  it('still admits sandboxes: the connection that was silent longest is closed', async () => {
    const waiting = 10;
    const place = await mkdtemp(path.join(directory, 'crowded-'));
    await using crowded = await StreamGate.open(place, waiting);
    const crowd: Socket[] = [];
    for (let i = 0; i < waiting + 3; i += 1) crowd.push(await visit(place));
    await Promise.all(crowd.slice(0, 3).map(isTurnedAway));
    using admission = crowded.expect();
    leave((await admitted(admission, place)).streams);
    expect(crowd.at(-1)?.destroyed).toBe(false);
  });
});
