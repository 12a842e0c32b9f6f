import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { deliveredGroupSchema, type DeliveredGroup } from '../../src/agents/rollouts/streams/delivered-group.ts';
import { connect } from '../../src/app/client/server-client.ts';
import { RefusedError } from '../../src/faces/client/client-errors.ts';
import { getPrompt } from '../../src/agents/rollouts/record/sampled-tokens.ts';
import { eventually } from '../support/eventually.ts';
import { textOfIds, type AskedCompletion, type FaultyAnswer, type ScriptedReply } from '../support/model-server.ts';
import { killedTrainer, lesson, prepareTraining, takeOne } from './training-stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

const TERMS = { groupSize: 2, concurrency: 4, batch: 2, maxStaleness: 0, total: 3, keepFiltered: true } as const;

/** Looks first; by its seed, a member knows the answer or not. */
function solver({ messages, seed = 0 }: AskedCompletion): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  if (turn === 0) return { reasoning: 'first', calls: [{ name: 'list_files', arguments: {} }] };
  const content = (seed - turn) % 2 === 0 ? '42\n' : 'no\n';
  return {
    calls: [
      { name: 'write_file', arguments: { file: 'answer.txt', content } },
      { name: 'submit', arguments: {} },
    ],
  };
}

/** The first group of an answer that goes on. */
async function firstStreamed(
  url: string,
  { accept, token }: { readonly accept: string; readonly token: string },
  form: RegExp,
): Promise<DeliveredGroup> {
  const ended = new AbortController();
  const answer = await fetch(url, { headers: { accept, authorization: `Bearer ${token}` }, signal: ended.signal });
  let text = '';
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    const [, found] = form.exec(text) ?? [];
    if (found === undefined) continue;
    ended.abort();
    return deliveredGroupSchema.parse(JSON.parse(found));
  }
  throw new Error(`no group in: ${text}`);
}

describe('a stream of groups for a training', () => {
  it('delivers the same groups when trainer and Muster are killed, and each is acknowledged once', async () => {
    await using training = await prepareTraining(solver);
    const first = await training.serve();
    const client = connect(first.url, { retry: { patienceMilliseconds: 60_000 } });
    const calm: DeliveredGroup[] = [];
    const undisturbed = await client.startRollouts(training.agent, 'code', { ...TERMS, maxStaleness: 9 });
    for await (const group of client.rollouts.groups(undisturbed.id)) calm.push(group);
    expect(calm.map(({ group }) => group)).toHaveLength(3);
    expect(await client.rollouts.get(undisturbed.id)).toMatchObject({ groups: { acknowledged: 3, trajectories: 6 } });

    const stream = await client.startRollouts(training.agent, 'code', TERMS);
    expect(stream).toMatchObject({ policy: 'org/policy', suite: 'code', state: 'running' });
    const lost = await killedTrainer(first.url, stream.id);
    first.command.signalGroup('SIGKILL');
    await first.command.ended;
    const second = await training.serve();
    const ledger: DeliveredGroup[] = [];
    for await (const group of client.rollouts.groups(stream.id)) {
      ledger.push(group);
      // Without a new version, no group beyond a batch may begin.
      if (ledger.length % TERMS.batch === 0) await client.rollouts.reportVersion('org/policy', ledger.length);
    }
    expect(second.url).toBe(first.url);
    expect(new Set(ledger.map(({ group }) => group)).size).toBe(3);
    expect(ledger).toHaveLength(3);
    const again = ledger.find(({ group }) => group === lost.group);
    expect(again?.lease).toBe(lost.lease + 1);
    expect(await client.rollouts.acknowledge(stream.id, [lost])).toEqual([{ group: lost.group, result: 'late' }]);
    const sorted = (groups: readonly DeliveredGroup[]): unknown[] =>
      [...groups].sort((one, other) => one.group.localeCompare(other.group)).map(lesson);
    expect(sorted(ledger)).toEqual(sorted(calm));
    expect(ledger.slice(2).map(({ versions, staleness }) => [versions, staleness])).toEqual([[{ oldest: 2, newest: 2 }, 0]]);
    expect(await client.rollouts.get(stream.id)).toMatchObject({ groups: { begun: 3, acknowledged: 3, stale: 0 } });
  });

  it('repeats no stored turn of a model after Muster is killed, up to the first observation that differs', async () => {
    let held = 0;
    let isHeld = true;
    const turnOf = ({ messages }: AskedCompletion): number => messages.filter(({ role }) => role === 'assistant').length;
    const calls = [
      { name: 'list_files', arguments: {} },
      { name: 'run', arguments: { command: 'date +%s%N' } },
      { name: 'write_file', arguments: { file: 'answer.txt', content: '42\n' } },
      { name: 'submit', arguments: {} },
    ];
    await using training = await prepareTraining((asked) => {
      const call = calls[turnOf(asked)];
      if (call?.name === 'submit' && isHeld) held += 1;
      return call === undefined || (call.name === 'submit' && isHeld) ? 'held' : { calls: [call] };
    });
    const first = await training.serve();
    const client = connect(first.url, { retry: { patienceMilliseconds: 60_000 } });
    const { id } = await client.startRollouts(training.agent, 'code', { ...TERMS, batch: 1, total: 1 });
    const evaluation = await client.submit(training.agent, 'code');
    const episodes = 2;
    await first.command.until('every episode waits for its last turn', () => held === TERMS.groupSize + episodes);
    first.command.signalGroup('SIGKILL');
    await first.command.ended;
    isHeld = false;
    const second = await training.serve();
    const { trajectories } = await takeOne(client, id, 600);
    const { summary } = await second.untilOver(evaluation.id);
    expect(summary).toMatchObject({ official: { episodes, mean: 1 } });
    // The clock is another one when its command runs again: what followed on it was said to a conversation that is no more.
    const players = TERMS.groupSize + episodes;
    expect([0, 1, 2, 3].map((turn) => training.model.asked.filter((asked) => turnOf(asked) === turn).length)).toEqual([
      players,
      players,
      2 * players,
      2 * players,
    ]);
    for (const { turns, segments, reward } of trajectories) {
      expect(reward).toBe(1);
      const [, clock, last] = turns;
      const told = clock?.observations[0]?.text ?? '';
      expect(told).toMatch(/\d{19}/);
      expect(last?.tokens && textOfIds(getPrompt(segments, last.tokens))).toContain(told);
    }
  });

  it('refuses terms that no training can use, and says what it expects', async () => {
    await using training = await prepareTraining(solver);
    const { url } = await training.serve();
    const client = connect(url);
    const refused = async (agent: object): Promise<unknown> => {
      const file = await training.stage.write('other.yaml', stringify(agent));
      return client.startRollouts(file, 'code', TERMS).catch((error: unknown) => error);
    };
    const model = { agent: 'model', endpoint: 'trainer', model: 'm' };
    const named = 'expected a name from models.endpoints of its configuration, which names trainer; got a URL';
    for (const [agent, why] of [
      [{ agent: 'nop' }, 'got "agent: nop"'],
      [model, 'got "tokenIds: none"'],
      [{ ...model, endpoint: 'elsewhere', tokenIds: 'vllm' }, 'there is no "elsewhere" in models.endpoints'],
      [{ ...model, endpoint: training.model.url, tokenIds: 'vllm' }, named],
    ] as const)
      expect(await refused(agent)).toMatchObject({ constructor: RefusedError, message: expect.stringContaining(why) });
    // Nor does an evaluation have the server ask an address that a caller chooses.
    const file = await training.stage.write('other.yaml', stringify({ ...model, endpoint: training.model.url }));
    await expect(client.evaluate(file, 'code')).rejects.toThrow(named);
    const external = await training.stage.write('other.yaml', stringify({ agent: 'external', name: 'x', listen: '127.0.0.1:7700' }));
    await expect(client.evaluate(external, 'code')).rejects.toThrow('which a server does not do for callers');
    expect(training.model.asked).toEqual([]);
    training.model.fail(...Array<FaultyAnswer>(1000).fill((request) => void request.socket.destroy()));
    const stream = await client.startRollouts(training.agent, 'code', { ...TERMS, total: 1 });
    await eventually('the stream says what it waits for', async () =>
      /^the model server .* fails repeatedly, and requests wait: /.test((await client.rollouts.get(stream.id)).problem ?? ''),
    );
    expect(await client.rollouts.acknowledge(stream.id, [{ group: 'ro-other.0', lease: 1 }])).toMatchObject([{ result: 'unknown' }]);
    await client.rollouts.reportVersion('org/policy', 7);
    await expect(client.rollouts.reportVersion('org/policy', 6)).rejects.toThrow(/expected one after 7, .* needs its own policy name/);
    await expect(client.rollouts.reportVersion('org/policy', 8, 'elsewhere')).rejects.toThrow('which names trainer');
    expect((await client.rollouts.cancel(stream.id)).state).toBe('cancelled');
    expect((await client.rollouts.list()).map(({ id }) => id)).toEqual([stream.id]);
  });

  it('is sent as lines and as events only to its principal, and answers each acknowledgement with its effect', async () => {
    await using training = await prepareTraining(solver, 'tokens');
    const token = await training.stage.token('owner', 'submitter');
    const other = await training.stage.token('stranger', 'submitter');
    const { url } = await training.serve();
    const [client, stranger] = [connect(url, { token }), connect(url, { token: other })];
    const { id } = await client.startRollouts(training.agent, 'code', { ...TERMS, total: 1 });
    const groups = `${url}/v1/rollouts/${id}/groups`;
    // What was streamed and not acknowledged comes again, whichever way it is asked for.
    const line = await firstStreamed(`${groups}?lease=1`, { accept: 'application/x-ndjson', token }, /^(\{.*\})\n/m);
    const event = await firstStreamed(`${groups}?lease=600`, { accept: 'text/event-stream', token }, /^event: group\ndata: (.*)\n\n/m);
    expect(event.group).toBe(line.group);
    expect(lesson(event)).toEqual(lesson(line));
    await expect(stranger.rollouts.acknowledge(id, [event])).rejects.toThrow(`there is no stream ${id}`);
    await expect(takeOne(stranger, id, 600)).rejects.toThrow(`there is no stream ${id}`);
    const acknowledged = async (group: Pick<DeliveredGroup, 'group' | 'lease'>): Promise<string | undefined> =>
      (await client.rollouts.acknowledge(id, [group]))[0]?.result;
    const results = [line, event, event, line, { group: event.group, lease: event.lease + 1 }, { group: 'ro-other.0', lease: 1 }];
    expect(await Array.fromAsync(results, acknowledged)).toEqual(['late', 'acknowledged', 'repeated', 'late', 'unknown', 'unknown']);
    expect(await client.rollouts.get(id)).toMatchObject({ groups: { acknowledged: 1, ready: 0 } });
    await expect(client.rollouts.get('ro-none')).rejects.toThrow('there is no stream ro-none');
  });
});
