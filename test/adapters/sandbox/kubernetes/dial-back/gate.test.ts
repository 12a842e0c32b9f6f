import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DialBackGate } from '../../../../../src/adapters/sandbox/kubernetes/dial-back/dial-back-gate.ts';
import { DialBackLine } from '../../../../../src/adapters/sandbox/kubernetes/dial-back/dial-back-line.ts';
import { CHANNEL } from '../../../../../src/adapters/sandbox/kubernetes/dial-back/messages.ts';
import type { ProgramChannel } from '../../../../../src/adapters/sandbox/kubernetes/exec/program-channel.ts';
import type { DialBackSettings } from '../../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { NEVER } from '../../../../contract/sandbox-fixture.ts';
import { eventually } from '../../../../support/eventually.ts';
import { invitationOf, ScriptedDialler } from '../../../../support/kubernetes/scripted-dialler.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

nock.restore();

const SETTINGS: DialBackSettings = {
  kind: 'dial-back',
  provider: 'kubernetes',
  host: '127.0.0.1',
  port: 0,
  advertise: 'ws://127.0.0.1:0',
  plaintext: 'refused',
  python: 'python3',
  dialler: '/muster/runner/dialler.py',
};
const INPUT_CREDIT = [CHANNEL.credit, CHANNEL.stdin, 0, 0, 0, 100];

describe('where pods that dial back arrive', () => {
  let clock: ManualClock;
  let gate: DialBackGate;
  let line: DialBackLine;
  let log: string[];

  beforeEach(async () => {
    clock = new ManualClock();
    log = [];
    gate = await DialBackGate.open(SETTINGS, { clock, log: (message) => void log.push(message) });
    line = await DialBackLine.open('pod-1', SETTINGS, gate, clock);
  });
  afterEach(async () => {
    line[Symbol.dispose]();
    await gate[Symbol.asyncDispose]();
    expect(clock.pending).toBe(0);
  });

  const invitation = (container = 'program', from = line): ReturnType<typeof invitationOf> => invitationOf(from.hold, container);

  /** A dialler whose program runs, as far as it says. */
  async function running(options = {}): Promise<{ dialler: ScriptedDialler; channel: ProgramChannel }> {
    const dialler = await ScriptedDialler.dial(invitation(), options);
    const started = line.exec('pod-1', 'program', ['run', 'this'], NEVER);
    dialler.send(...INPUT_CREDIT);
    return { dialler, channel: await started };
  }

  /** Lets five seconds pass so many times; each time it is asked whether it lives, and has the time that a machine takes to hear of it. */
  async function idle(dialler: ScriptedDialler, times: number): Promise<void> {
    let pings = 0;
    dialler.socket.on('ping', () => (pings += 1));
    for (let i = 1; i <= times; i += 1) {
      await clock.advance(5_000);
      await eventually('it was asked', () => pings >= i);
    }
  }

  it('lets the container run its order, and carries its streams and its exit code', async () => {
    const { dialler, channel } = await running();
    await eventually('the order came', () => dialler.received.length === 3);
    expect(JSON.parse(String(dialler.received[0]))).toEqual({ command: ['run', 'this'], next: null });
    channel.stdin.write('in');
    await eventually('input came', () => dialler.streamed(CHANNEL.stdin) === 2);
    dialler.send(CHANNEL.stdout, 111, 117, 116);
    dialler.socket.send(Buffer.concat([Buffer.of(CHANNEL.status), Buffer.from('{"exited": 3}')]));
    dialler.socket.close(1000);
    expect(String(await once(channel.stdout, 'data'))).toBe('out');
    expect(await channel.ended).toEqual({ kind: 'exited', code: 3 });
  });

  it('waits for a container that dials late', async () => {
    const started = line.exec('pod-1', 'program', ['run'], NEVER);
    await clock.advance(60_000);
    const dialler = await ScriptedDialler.dial(invitation());
    dialler.send(...INPUT_CREDIT);
    const channel = await started;
    channel.terminate();
    expect(await channel.ended).toMatchObject({ kind: 'dropped' });
  });

  it('reports a container that never dialled, and what to check', async () => {
    const started = line.exec('pod-1', 'program', ['run'], NEVER).catch((error: unknown) => error);
    await clock.advance(75_000);
    expect(await started).toMatchObject({
      code: 'kubernetes.dial-back',
      message: expect.stringContaining('kubernetes.dialBack.advertise'),
    });
  });

  it.each([
    ['a token that was never issued', 'ws://HOST/dial-back/pod-1/program', 'guessed'],
    ['no token', 'ws://HOST/dial-back/pod-1/program', ''],
    ['an unexpected pod', 'ws://HOST/dial-back/pod-2/program', undefined],
    ['the other container of the pod', 'ws://HOST/dial-back/pod-1/inbox', undefined],
    ['another path', 'ws://HOST/', undefined],
  ])('refuses %s, before anything is a WebSocket', async (_title, url, token) => {
    const given = { url: url.replace('HOST', `127.0.0.1:${gate.port}`), token: token ?? invitation().token };
    await expect(ScriptedDialler.dial(given)).rejects.toThrow('401');
    expect(gate.size).toBe(0);
    // The right one is as good as before.
    expect((await ScriptedDialler.dial(invitation())).socket.readyState).toBe(1);
  });

  it('refuses a token of another pod', async () => {
    using other = await DialBackLine.open('pod-2', SETTINGS, gate, clock);
    await expect(ScriptedDialler.dial({ ...invitation(), token: invitation('program', other).token })).rejects.toThrow('401');
  });

  it('refuses a dialler of another version, and names the expected one', async () => {
    await expect(ScriptedDialler.dial(invitation(), { protocol: 'v2.dial-back.muster.dev' })).rejects.toThrow('400');
  });

  it('treats a token that is presented twice as stolen, and ends the sandbox', async () => {
    await ScriptedDialler.dial(invitation());
    await expect(ScriptedDialler.dial(invitation())).rejects.toThrow('401');
    expect(await line.spoilt).toContain('presented twice');
    expect(log).toEqual([expect.stringContaining('the token of pod-1, container program, was presented twice')]);
  });

  it('refuses a container whose sandbox has ended', async () => {
    const late = invitation();
    line[Symbol.dispose]();
    await expect(ScriptedDialler.dial(late)).rejects.toThrow('401');
  });

  it('gives each next connection of the inbox a token of its own, and runs several commands side by side', async () => {
    const first = await ScriptedDialler.dial(invitation('inbox'));
    const [one, two] = [line.exec('pod-1', 'inbox', ['one'], NEVER), line.exec('pod-1', 'inbox', ['two'], NEVER)];
    first.send(...INPUT_CREDIT);
    await one;
    await eventually('the order came', () => first.received.length > 0);
    const { next } = Object(JSON.parse(String(first.received[0])));
    const second = await ScriptedDialler.dial({ ...invitation('inbox'), token: String(next) });
    second.send(...INPUT_CREDIT);
    await two;
    await expect(ScriptedDialler.dial({ ...invitation('inbox'), token: String(next) })).rejects.toThrow('401');
    await eventually('the order came', () => second.received.length > 0);
    expect(JSON.parse(String(second.received[0]))).toMatchObject({ command: ['two'] });
  });

  it.each([
    [
      'more output than it was asked for',
      (dialler: ScriptedDialler) => {
        const piece = Buffer.concat([Buffer.of(CHANNEL.stdout), Buffer.alloc(32_768)]);
        for (let i = 0; i < 20; i += 1) dialler.socket.send(piece);
      },
      'more output than it was asked for',
    ],
    [
      'a message that is too large',
      (dialler: ScriptedDialler) => dialler.socket.send(Buffer.alloc(100_000, 1)),
      'Max payload size exceeded',
    ],
    ['a stream that there is not', (dialler: ScriptedDialler) => dialler.send(9, 1), 'unknown kind 9'],
    [
      'a credit that makes no sense',
      (dialler: ScriptedDialler) => dialler.send(CHANNEL.credit, CHANNEL.stdin, 255, 255, 255, 255),
      'credit',
    ],
    ['a status that makes no sense', (dialler: ScriptedDialler) => dialler.send(CHANNEL.status, 1, 2, 3), 'status'],
    ['text', (dialler: ScriptedDialler) => dialler.socket.send('text'), 'out of turn'],
    [
      'half a frame',
      (dialler: ScriptedDialler) => tcpOf(dialler).write(Buffer.of(0x82, 0xff, 0, 0, 0), () => tcpOf(dialler).destroy()),
      'lost',
    ],
    ['nothing: it goes away', (dialler: ScriptedDialler) => dialler.socket.terminate(), 'lost'],
  ])('ends the connection of a dialler that sends %s, and says so', async (_title, misbehave, said) => {
    const { dialler, channel } = await running();
    channel.stdout.once('readable', () => {});
    misbehave(dialler);
    expect(await channel.ended).toMatchObject({ kind: 'dropped', detail: expect.stringContaining(said) });
    expect(channel.stdout.readableLength).toBeLessThanOrEqual(256 * 1024);
  });

  it('ends a connection that sends before it has an order', async () => {
    const dialler = await ScriptedDialler.dial(invitation());
    dialler.send(CHANNEL.stdout, 1);
    await dialler.closed;
    await expect(line.exec('pod-1', 'program', ['run'], NEVER)).rejects.toMatchObject({ code: 'kubernetes.dial-back' });
  });

  it('detects a dialler that answers no ping within twenty seconds, and tolerates a slow one', async () => {
    const { dialler, channel } = await running({ autoPong: false });
    await clock.advance(10_000);
    expect(dialler.socket.readyState).toBe(1);
    await clock.advance(10_000);
    expect(await channel.ended).toMatchObject({ kind: 'dropped', detail: expect.stringContaining('did not answer') });
  });

  it('pings an idle container, and continues if it answers', async () => {
    const { dialler, channel } = await running();
    await idle(dialler, 10);
    dialler.send(CHANNEL.stdout, 33);
    expect(String(await once(channel.stdout, 'data'))).toBe('!');
  });

  it('sends no more input than was asked for, whatever is written', async () => {
    const { dialler, channel } = await running();
    expect(channel.stdin.write(Buffer.alloc(1_000_000))).toBe(false);
    await eventually('the credit is used up', () => dialler.streamed(CHANNEL.stdin) === 100);
    dialler.send(CHANNEL.credit, CHANNEL.stdin, 0, 0, 3, 232);
    await eventually('the next credit is used up', () => dialler.streamed(CHANNEL.stdin) === 1100);
    expect(channel.stdin.writableLength).toBe(1_000_000);
  });

  it('stays answerable while its output is not read', async () => {
    const { dialler, channel } = await running();
    for (let i = 0; i < 8; i += 1) dialler.socket.send(Buffer.concat([Buffer.of(CHANNEL.stdout), Buffer.alloc(32_768)]));
    await eventually('all of it came', () => channel.stdout.readableLength === 8 * 32_768);
    await idle(dialler, 12);
    dialler.send(CHANNEL.stderr, 33);
    expect(String(await once(channel.stderr, 'data'))).toBe('!');
  });

  it('answers nothing but upgrades', async () => {
    const socket = connect(gate.port, '127.0.0.1').end('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(String(await once(socket, 'data'))).toContain('404');
    socket.destroy();
  });
});

describe('the address that pods dial', () => {
  it.each([
    [{ advertise: undefined }, 'kubernetes.dial-back-address', 'is not set'],
    [{ advertise: 'ws://muster.example.com:7678' }, 'kubernetes.dial-back-address', 'not encrypted'],
    [{ advertise: 'ws://10.0.0.1:7678', certificate: '/c', key: '/k' }, 'kubernetes.dial-back-address', 'write wss://'],
    [{ advertise: 'ws://127.0.0.1:1/path' }, 'kubernetes.dial-back-address', 'a host and a port'],
    [{ advertise: 'wss://no-such-host.invalid:7678' }, 'kubernetes.dial-back-address', 'cannot be found'],
    [{ advertise: 'wss://127.0.0.1:7678', authority: '/no/such/file' }, 'kubernetes.dial-back-authority', '/no/such/file'],
  ])('%j is refused, with the remedy', async (changes, code, text) => {
    const clock = new ManualClock();
    await using gate = await DialBackGate.open(SETTINGS, { clock, log: () => {} });
    await expect(DialBackLine.open('pod', { ...SETTINGS, ...changes }, gate, clock)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(text),
    });
  });

  it('is announced with the host’s IP address, since pods that reach nothing but Muster reach no name server', async () => {
    const clock = new ManualClock();
    await using gate = await DialBackGate.open(SETTINGS, { clock, log: () => {} });
    using line = await DialBackLine.open('pod', { ...SETTINGS, advertise: 'ws://localhost:0' }, gate, clock);
    expect(line.hold.hostAliases).toEqual([{ ip: expect.stringMatching(/^(127\.0\.0\.1|::1)$/), hostnames: ['localhost'] }]);
    expect(invitationOf(line.hold, 'inbox').url).toBe(`ws://localhost:${gate.port}/dial-back/pod/inbox`);
  });

  it('is refused with the remedy when Muster cannot listen on it', async () => {
    const clock = new ManualClock();
    await using gate = await DialBackGate.open(SETTINGS, { clock, log: () => {} });
    await expect(DialBackGate.open({ ...SETTINGS, port: gate.port }, { clock, log: () => {} })).rejects.toMatchObject({
      code: 'kubernetes.dial-back-listen',
      message: expect.stringContaining('kubernetes.dialBack.host'),
    });
  });
});

function tcpOf({ socket }: ScriptedDialler): Socket {
  const tcp: unknown = Reflect.get(socket, '_socket');
  if (tcp instanceof Socket) return tcp;
  throw new Error('the socket is not open');
}
