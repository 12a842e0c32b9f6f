import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ForkedProgram } from '../../../../src/adapters/sandbox/zygote/forked-program.ts';
import { StreamGate } from '../../../../src/adapters/sandbox/zygote/stream-gate.ts';
import { BASE_IMAGE } from '../../../../src/adapters/sandbox/zygote/warden-messages.ts';
import { Warden } from '../../../../src/adapters/sandbox/zygote/warden.ts';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

// Its sockets, also those of a file system, do not connect before something is written. No one here speaks HTTP.
nock.restore();

const NEVER = new AbortController().signal;
const COMMAND = ['program', 'argument'];
const ONE = parseSandboxId('one');
const TWO = parseSandboxId('two');
const orderSchema = z.looseObject({ type: z.string(), sandbox: z.string().optional(), token: z.string().default('') });
type Order = z.infer<typeof orderSchema>;

/** The other side: a process that does and says what the test wants. */
class ScriptedWarden extends EventEmitter {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly kills: string[] = [];
  readonly #orders = createInterface({ input: this.stdin })[Symbol.asyncIterator]();

  kill(signal: string): boolean {
    this.kills.push(signal);
    return true;
  }

  async order(): Promise<Order> {
    const line = await this.#orders.next();
    return orderSchema.parse(JSON.parse(line.value ?? ''));
  }

  report(...reports: readonly object[]): void {
    this.stdout.write(reports.map((report) => `${JSON.stringify(report)}\n`).join(''));
  }

  /** Ends, with all that it has written. */
  async end(code: number | null, signal: string | null): Promise<void> {
    const ended = [this.stdout, this.stderr].map(async (stream) => once(stream, 'end'));
    this.stdout.end();
    this.stderr.end();
    await Promise.all(ended);
    this.emit('close', code, signal);
  }
}

let directory: string;
let gate: StreamGate;
let clock: ManualClock;
let script: ScriptedWarden;
let warden: Warden;
const sockets: Socket[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'muster-warden-'));
  gate = await StreamGate.open(directory);
  clock = new ManualClock();
  script = new ScriptedWarden();
  const { stdin, stdout, stderr } = script;
  warden = new Warden({ process: script, stdin, stdout, stderr }, gate, clock);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gate[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
  expect(clock.pending).toBe(0);
});

/** As the warden does it. */
async function connectStreams(token: string): Promise<readonly [Socket, Socket, Socket]> {
  const connected = async (name: string): Promise<Socket> => {
    const socket = connect(path.join(directory, '_warden.sock'));
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`${token} ${name}\n`);
    return socket;
  };
  return Promise.all([connected('stdin'), connected('stdout'), connected('stderr')]);
}

/** A program that has begun. */
async function forked(id = ONE): Promise<{ readonly program: ForkedProgram; readonly ends: readonly Socket[] }> {
  const forking = warden.fork({ sandbox: id, command: COMMAND, image: BASE_IMAGE }, NEVER);
  const { token } = await script.order();
  const ends = await connectStreams(token);
  script.report({ type: 'started', sandbox: id });
  return { program: await forking, ends };
}

describe('Muster’s side of a warden', () => {
  it('orders a sandbox with a token of its own, and has it when its streams have come and its program begins', async () => {
    const forking = warden.fork({ sandbox: ONE, command: COMMAND, image: 'image-7' }, NEVER);
    const order = await script.order();
    expect(order).toEqual({
      type: 'fork',
      sandbox: 'one',
      image: 'image-7',
      command: COMMAND,
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    // In the other order than usual.
    script.report({ type: 'started', sandbox: 'one' });
    const [stdin, stdout] = await connectStreams(order.token);
    const program = await forking;
    program.stdin.write('in');
    expect(String(await once(stdin, 'data'))).toBe('in');
    stdout.write('out');
    expect(String(await once(program.stdout, 'data'))).toBe('out');
    script.report({ type: 'ended', sandbox: 'one', code: 0 });
    expect(await program.ended).toEqual({ kind: 'exited', code: 0 });
  });

  it.each([
    [
      { type: 'ended', code: 3 },
      { kind: 'exited', code: 3 },
    ],
    [
      { type: 'ended', signal: 9 },
      { kind: 'exited', code: 137 },
    ],
    [
      { type: 'ended', code: 0, cpu_seconds: 1.5, peak_memory_bytes: 4096 },
      { kind: 'exited', code: 0, usage: { cpuSeconds: 1.5, peakMemoryBytes: 4096 } },
    ],
    [
      { type: 'lost', message: 'taken' },
      { kind: 'lost', detail: 'taken', wasKilled: true },
    ],
    [
      { type: 'unforked', message: 'no' },
      { kind: 'lost', detail: 'no', wasKilled: false },
    ],
  ])('tells how a program ended: %o', async (report, end) => {
    const { program } = await forked();
    script.report({ ...report, sandbox: 'one' });
    expect(await program.ended).toEqual(end);
  });

  it.each([
    [{ type: 'failed', message: 'no room' }, 'the sandbox could not be forked: no room'],
    [{ type: 'unforked', message: 'no process' }, 'the sandbox could not be forked: no process'],
    [{ type: 'lost', message: 'its zygote is gone' }, 'the sandbox could not be forked: its zygote is gone'],
    [{ type: 'ended', code: 1 }, 'the sandbox could not be forked: the program ended before it began'],
  ])('fails a creation that came to nothing, and closes its streams: %o', async (report, message) => {
    const forking = warden.fork({ sandbox: ONE, command: COMMAND, image: BASE_IMAGE }, NEVER);
    const ends = await connectStreams((await script.order()).token);
    const closed = ends.map(async (end) => once(end.resume(), 'close'));
    script.report({ ...report, sandbox: 'one' });
    await expect(forking).rejects.toMatchObject({ code: 'sandbox.start', message });
    await Promise.all(closed);
  });

  it('keeps sandboxes apart, and reads reports however they are cut', async () => {
    const [one, two] = [await forked(ONE), await forked(TWO)];
    const text = `${JSON.stringify({ type: 'ended', sandbox: 'two', code: 2 })}\n${JSON.stringify({ type: 'ended', sandbox: 'one', code: 1 })}\n`;
    for (const character of text) script.stdout.write(character);
    expect([await one.program.ended, await two.program.ended]).toEqual([
      { kind: 'exited', code: 1 },
      { kind: 'exited', code: 2 },
    ]);
  });

  it('ignores reports of sandboxes and images that do not exist', async () => {
    script.report(
      { type: 'started', sandbox: 'x' },
      { type: 'ended', sandbox: 'x', code: 0 },
      { type: 'image-ready', image: 'x', policies: [] },
    );
    script.report({ type: 'image-lost', image: 'x', message: 'x' });
    const making = warden.makeImage('y', BASE_IMAGE, { policies: [], code: [] });
    script.report({ type: 'image-ready', image: 'y', policies: [] });
    await making;
    expect(script.kills).toEqual([]);
  });

  it('cancels an aborted creation, and waits until nothing of it is left', async () => {
    const enough = new AbortController();
    let isOver = false;
    const forking = warden.fork({ sandbox: ONE, command: COMMAND, image: BASE_IMAGE }, enough.signal).finally(() => (isOver = true));
    const { token } = await script.order();
    enough.abort(new Error('enough'));
    expect(await script.order()).toEqual({ type: 'kill', sandbox: 'one', token: '' });
    expect(isOver).toBe(false);
    script.report({ type: 'ended', sandbox: 'one', signal: 9 });
    await expect(forking).rejects.toThrow('enough');
    // Its token is of no use any more.
    const [late] = await connectStreams(token);
    await once(late.resume(), 'close');
  });

  it('kills a program once, and not after it has ended', async () => {
    const { program } = await forked(ONE);
    program.kill();
    program.kill();
    expect(await script.order()).toMatchObject({ type: 'kill', sandbox: 'one' });
    script.report({ type: 'ended', sandbox: 'one', signal: 9 });
    await program.waitUntilGone();
    program.kill();
    void warden.fork({ sandbox: TWO, command: COMMAND, image: BASE_IMAGE }, NEVER).catch(() => {});
    expect(await script.order()).toMatchObject({ type: 'fork', sandbox: 'two' });
    await script.end(0, null);
  });

  it('kills the warden when it does not end a sandbox within ten seconds, and not before', async () => {
    const { program } = await forked(ONE);
    program.kill();
    await clock.advance(9999);
    expect(script.kills).toEqual([]);
    await clock.advance(1);
    expect(script.kills).toEqual(['SIGKILL']);
    await script.end(null, 'SIGKILL');
    expect(await program.ended).toEqual({ kind: 'lost', detail: 'the zygote did not end a sandbox within 10 s', wasKilled: false });
  });

  it('gives a warden that reports of other sandboxes ten seconds more, as the machine is busy', async () => {
    const [{ program }] = [await forked(ONE), await forked(TWO)];
    program.kill();
    await clock.advance(9999);
    script.report({ type: 'ended', sandbox: 'two', code: 0 });
    await clock.advance(9999);
    expect(script.kills).toEqual([]);
    await clock.advance(1);
    expect(script.kills).toEqual(['SIGKILL']);
    await script.end(null, 'SIGKILL');
    expect(clock.pending).toBe(0);
  });

  it('tells every waiter that the warden has ended, with its last output', async () => {
    const { program } = await forked(ONE);
    const forking = warden.fork({ sandbox: TWO, command: COMMAND, image: BASE_IMAGE }, NEVER).catch((error: unknown) => error);
    script.stderr.write('Traceback: something broke\n');
    await script.end(1, null);
    const detail = 'the zygote ended (exit code 1); it said: Traceback: something broke';
    expect(await program.ended).toEqual({ kind: 'lost', detail, wasKilled: false });
    const lost = { code: 'sandbox.zygote', message: `sandboxes cannot be forked: ${detail}` };
    expect(await forking).toMatchObject(lost);
    expect(warden.hasEnded).toBe(true);
    await expect(warden.fork({ sandbox: parseSandboxId('three'), command: COMMAND, image: BASE_IMAGE }, NEVER)).rejects.toMatchObject({
      code: 'sandbox.zygote',
    });
  });

  it.each([
    ['no JSON', 'started one\n'],
    ['a report that there is none of', '{"type":"promoted","sandbox":"one"}\n'],
    ['a report without its fields', '{"type":"failed","sandbox":"one"}\n'],
    ['impossible figures', '{"type":"ended","sandbox":"one","code":0,"cpu_seconds":-1}\n'],
    ['a line without end', `${'x'.repeat(70_000)}\n`],
  ])('ends a warden that says what makes no sense: %s', async (_, said) => {
    const { program } = await forked(ONE);
    script.stdout.write(said);
    await script.end(null, 'SIGKILL');
    expect(script.kills).toEqual(['SIGKILL']);
    expect(await program.ended).toMatchObject({ kind: 'lost', detail: expect.stringMatching(/^the zygote said what makes no sense: /) });
  });

  it('ends its warden when it is closed, and its programs are lost with it', async () => {
    const { program } = await forked(ONE);
    const closing = warden[Symbol.asyncDispose]();
    expect(script.kills).toEqual(['SIGKILL']);
    await script.end(null, 'SIGKILL');
    await closing;
    expect(await program.ended).toEqual({ kind: 'lost', detail: 'the sandbox provider has been closed', wasKilled: false });
  });
});

describe('images', () => {
  const content = { policies: [{ path: '/p', digest: 'sha256:1', trusted: false }], code: [] };

  it('are made from others, can be forked from at once, and are ready when the warden reports it', async () => {
    const making = warden.makeImage('image-1', BASE_IMAGE, content);
    expect(await script.order()).toEqual({ type: 'image', image: 'image-1', parent: BASE_IMAGE, token: '', ...content });
    expect(warden.hasImage('image-1')).toBe(true);
    const policies = [{ digest: 'sha256:p', bytes: 4096, seconds: 0.002 }];
    script.report({ type: 'image-ready', image: 'image-1', policies });
    expect(await making).toEqual(policies);
    warden.retireImage('image-1');
    expect(await script.order()).toMatchObject({ type: 'retire', image: 'image-1' });
  });

  it('that cannot be made report the reason, and the warden continues', async () => {
    const making = warden.makeImage('image-1', BASE_IMAGE, content);
    script.report({ type: 'image-lost', image: 'image-1', message: 'no such policy' });
    await expect(making).rejects.toMatchObject({ code: 'sandbox.zygote', message: 'sandboxes cannot be forked: no such policy' });
    expect([warden.hasImage('image-1'), warden.hasImage(BASE_IMAGE), script.kills]).toEqual([false, true, []]);
  });

  it('end with the base image, and so does the warden', async () => {
    const forking = warden.fork({ sandbox: ONE, command: COMMAND, image: BASE_IMAGE }, NEVER).catch((error: unknown) => error);
    script.report({ type: 'image-lost', image: BASE_IMAGE, message: 'ModuleNotFoundError: x' });
    const lost = { code: 'sandbox.zygote', message: 'sandboxes cannot be forked: the zygote is gone: ModuleNotFoundError: x' };
    await script.end(null, 'SIGKILL');
    expect(script.kills).toEqual(['SIGKILL']);
    expect(await forking).toMatchObject(lost);
    await expect(warden.fork({ sandbox: TWO, command: COMMAND, image: BASE_IMAGE }, NEVER)).rejects.toMatchObject(lost);
  });
});
