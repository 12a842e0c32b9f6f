import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectServer } from '../support/object-servers.ts';
import { sampled } from '../support/full-form.ts';
import { gcsContext, NO_CREDENTIALS, s3Context, useTestCredentials, type Bucket } from '../support/object-fixture.ts';
import { ANYTHING, CARTPOLE, Stage } from './stage.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

// Real sockets, which nock would take the place of.
beforeAll(() => nock.restore());
afterAll(() => nock.activate());
useTestCredentials();

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: NO_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: NO_CREDENTIALS.secretAccessKey };
const FEW = { changes: { stop: { rule: 'fixed', episodes: 4 } } };

/** A policy that fits any environment, as a directory of the run. */
async function put(bucket: Bucket, step: string): Promise<void> {
  for (const name of await readdir(ANYTHING))
    if (name !== '__pycache__') await bucket.put(`run/${step}/${name}`, await readFile(path.join(ANYTHING, name)));
}

/** Of each line of stdout: what happened to which checkpoint. */
function happened(stdout: string): readonly string[] {
  const events = stdout
    .trim()
    .split('\n')
    .map((line): { event?: string; name?: string } => JSON.parse(line));
  return events.map(({ event, name }) => `${event} ${name}`);
}

/** The short form watches a run in S3, whose server needs no Go. Sources of both kinds are in adapters/checkpoints. */
describe.each(sampled([gcsContext, s3Context], (context) => context === s3Context))('a run in $name', (context) => {
  describe.skipIf(context.missing !== undefined)(`that is watched${context.skipped}`, () => {
    let server: ObjectServer;
    beforeAll(async () => {
      server = await context.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it('is evaluated once, and the best is recorded beside the checkpoints and reported', async () => {
      await using stage = await Stage.open();
      await using bucket = await context.bucket(server);
      await using receiver = await WebhookReceiver.start();
      const config = await stage.write('muster.json', { sources: context.settings(server) });
      const suite = await stage.faultSuite(FEW);
      const flags = [
        '--suite',
        suite,
        '--config',
        config,
        '--marker',
        'DONE',
        '--every',
        '0.1',
        '--webhook',
        receiver.url,
        '--best',
        '--once',
        '--json',
        '-n',
        '1',
      ];
      const args = ['watch', bucket.uri('run/'), ...flags];
      await put(bucket, 'step-1');
      await bucket.put('run/step-1/DONE', Buffer.from(''));

      const first = await stage.run(args, { environment: ENVIRONMENT });
      expect(first).toMatchObject({ exitCode: 0 });
      expect(happened(first.stdout)).toEqual(['evaluated step-1']);
      expect(JSON.parse(await bucket.get('run/best.json'))).toMatchObject({ name: 'step-1', episodes: 4 });

      await put(bucket, 'step-2');
      await bucket.put('run/step-2/DONE', Buffer.from(''));
      const second = await stage.run(args, { environment: ENVIRONMENT });
      expect(second).toMatchObject({ exitCode: 0 });
      expect(happened(second.stdout)).toEqual(['evaluated step-2']);
      expect(`${first.stderr}${second.stderr}`).not.toContain('Warning');
      expect(receiver.received.map(({ body }): { name?: string } => JSON.parse(body)).map(({ name }) => name)).toEqual([
        'step-1',
        'step-2',
      ]);
    }, 120_000);
  });
});

describe('muster watch', () => {
  it('that is interrupted while it waits ends, and leaves nothing', async () => {
    await using stage = await Stage.open();
    const command = stage.start(['watch', stage.directory, '--suite', await stage.faultSuite(FEW)]);
    await command.until('it watches', () =>
      command.stderr.includes('; a checkpoint is played once it has not changed for 30 s (Ctrl-C ends it)'),
    );
    command.signalGroup('SIGINT');
    expect(await command.ended).toMatchObject({
      exitCode: 130,
      stdout: '',
      stderr: expect.stringContaining('the same command goes on later'),
    });
  });

  it('--once reports by its exit code a checkpoint of which every episode fails, and one that cannot be played', async () => {
    await using stage = await Stage.open();
    const suite = await stage.faultSuite({ how: 'raises', episodes: [0, 1, 2, 3], ...FEW });
    await cp(ANYTHING, stage.path('run/step-1'), { recursive: true });
    await writeFile(stage.path('run/step-2.onnx'), 'no model');
    const args = ['watch', stage.path('run'), '--suite', suite, '--stale', 'evaluate', '--every', '0.1', '--once', '-n', '1'];
    const { exitCode, stdout } = await stage.call([...args, '--json']);
    expect(exitCode).toBe(2);
    expect(happened(stdout).toSorted()).toEqual(['refused step-1', 'refused step-2.onnx']);
    expect(stdout).toContain('"code":"evaluation.all-failed"');
    const forPeople = await stage.call(args);
    expect(forPeople.exitCode).toBe(2);
    expect(forPeople.stdout).toMatch(/^step-1: no answer: all 4 episodes/m);
    expect(forPeople.stdout).toMatch(/^step-2\.onnx: cannot be played: /m);
  });

  it('--once of a directory that is not there is refused with the one that was meant', async () => {
    await using stage = await Stage.open();
    await cp(ANYTHING, stage.path('run/step-1'), { recursive: true });
    const result = await stage.call(['watch', stage.path('runn'), '--suite', await stage.faultSuite(FEW), '--once']);
    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(`did you mean ${stage.path('run')}?`) });
    const report = await stage.call(['report', stage.path('runn')]);
    expect(report).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(`did you mean ${stage.path('run')}?`) });
  });

  it.each([
    [['gs://bucket/run'], 'add --suite', []],
    [['https://host/run', '--suite', 'suite.yaml'], 'cannot be watched', []],
    [['.', '--suite', CARTPOLE, '--webhook', 'nowhere'], 'nowhere" is not a URL; expected https://host/path', []],
    [['.', '--suite', CARTPOLE, '--best', '.'], '--best . is a directory; expected a file', []],
  ])('%j is refused: %s', async (args, message, more) => {
    await using stage = await Stage.open();
    const result = await stage.call(['watch', ...args, ...more]);
    expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) });
  });
});
