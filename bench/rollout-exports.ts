import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TrajectoryDirectory } from '../src/adapters/files/trajectory-directory.ts';
import { createFormatter, ROLLOUT_FORMATS, type RolloutFormat } from '../src/agents/rollouts/formats/formats.ts';
import { TokenRecord } from '../src/agents/rollouts/record/sampled-tokens.ts';
import { TRAJECTORY_FORMAT, type Trajectory } from '../src/agents/rollouts/record/trajectory.ts';
import type { Benchmark, Check } from './benchmark.ts';
import { ownMemory } from './memory-of.ts';

const TURNS = 20;
/** Tokens that each turn adds: of the observation before it, and of the model. */
const GIVEN = 60;
const SAMPLED = 40;
const AT = '2026-01-01T00:00:00.000Z';
const MEASURED = 'trajectories read from files and written as lines, one format after the other';

interface Exported {
  readonly format: RolloutFormat;
  readonly turnsPerSecond: number;
  /** Of a processor, for one turn. */
  readonly processorMs: number;
  /** Heap after all trajectories beside that after a tenth of them, megabytes. */
  readonly grownMegabytes: number;
}

export const rolloutExports: Benchmark = {
  name: 'rollout-exports',
  summary: 'turns a second of trajectories that are exported in the formats of trainers, and whether memory grows with their number',
  measurements: () => [MEASURED],
  async run({ quick, measured }) {
    const count = quick ? 200 : 10_000;
    const exported = await measured(MEASURED, () => exportAll(count));
    return {
      tables: [
        {
          title: `${count} trajectories of ${TURNS} turns, ${GIVEN + SAMPLED} tokens a turn`,
          columns: ['format', 'turns a second', 'processor (ms a turn)', 'heap grown (MB)'],
          rows: exported.map(({ format, turnsPerSecond, processorMs, grownMegabytes }) => [
            format,
            Math.round(turnsPerSecond),
            processorMs.toFixed(3),
            grownMegabytes.toFixed(1),
          ]),
        },
      ],
      checks: checksOf(exported),
      notes: ['With reading each trajectory from its file and checking it by its schema. The lines are made and thrown away.'],
    };
  },
};

function checksOf(exported: readonly Exported[]): readonly Check[] {
  const slowest = Math.min(...exported.map(({ turnsPerSecond }) => turnsPerSecond));
  const grown = Math.max(...exported.map(({ grownMegabytes }) => grownMegabytes));
  return [
    { what: 'turns a second in the slowest format', target: '≥ 5,000', measured: slowest.toFixed(0), met: slowest >= 5000 },
    { what: 'heap grown behind the first tenth', target: '≤ 8 MB', measured: `${grown.toFixed(1)} MB`, met: grown <= 8 },
  ];
}

async function exportAll(count: number): Promise<readonly Exported[]> {
  await using place = await mkdtempDisposable(join(tmpdir(), 'muster-exports-'));
  const directory = new TrajectoryDirectory(place.path);
  for (let i = 0; i < count; i += 1) await directory.write(makeTrajectory(i));
  const exported: Exported[] = [];
  for (const format of ROLLOUT_FORMATS) exported.push(await exportOnce(directory, format, count));
  return exported;
}

async function exportOnce(directory: TrajectoryDirectory, format: RolloutFormat, count: number): Promise<Exported> {
  const formatter = createFormatter(format);
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  let [done, characters, early] = [0, 0, 0];
  for await (const trajectory of directory.read()) {
    for (const line of formatter.format(trajectory) ?? []) characters += JSON.stringify(line).length;
    done += 1;
    if (done === Math.ceil(count / 10)) early = ownMemory().heapBytes;
  }
  const turns = done * TURNS;
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  if (characters === 0) throw new Error(`nothing was written as ${format}`);
  const grownMegabytes = (ownMemory().heapBytes - early) / 2 ** 20;
  return { format, turnsPerSecond: turns / seconds, processorMs: (user + system) / 1000 / turns, grownMegabytes };
}

/** Each turn extends the tokens of the one before. */
function makeTrajectory(number: number): Trajectory {
  const record = new TokenRecord();
  const usage = { promptTokens: GIVEN, completionTokens: SAMPLED, cachedTokens: 0 };
  let before: readonly number[] = [];
  const turns = Array.from({ length: TURNS }, (_, turn) => {
    const promptIds = [...before, ...listIds(GIVEN, turn)];
    const completionIds = listIds(SAMPLED, turn + number);
    before = [...promptIds, ...completionIds];
    const tokens = record.add({ promptIds, completionIds, logprobs: completionIds.map((id) => -id / 32_768), version: 1 });
    const id = `call-${turn}`;
    return {
      message: { content: 'I look at the file.', reasoning: null },
      toolCalls: [{ id, name: 'run', arguments: '{"command": "cat sorting.py"}' }],
      observations: [{ toolCall: id, text: 'exit code 0\n'.repeat(8) }],
      finishReason: 'tool_calls',
      tokens,
      policyVersion: 1,
      usage,
      startedAt: AT,
      endedAt: AT,
    };
  });
  const timings = { startedAt: AT, endedAt: AT, modelSeconds: 1, actionSeconds: 1 };
  return {
    format: TRAJECTORY_FORMAT,
    trajectory: `made-${number}`,
    task: `made/task-${number % 10}`,
    taskDigest: 'sha256:1',
    group: null,
    rep: number,
    seed: number,
    taskSeed: number,
    agent: 'sha256:2',
    model: 'm',
    tools: [{ name: 'run', description: 'runs a command', parameters: { type: 'object' } }],
    prompt: [{ role: 'user', content: 'Mend it.' }],
    turns,
    segments: record.listSegments().map(({ ids, lossMask, logprobs, versions }) => ({
      ids: [...ids],
      lossMask: [...lossMask],
      logprobs: logprobs && [...logprobs],
      versions: [...versions],
    })),
    reward: number % 2,
    components: { gate: 1, correctness: number % 2 },
    verdict: '',
    status: 'completed',
    stopReason: 'submitted',
    timings,
    usage,
  };
}

function listIds(count: number, offset: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => (i * 7919 + offset) % 32_768);
}
