import { describe, expect, it } from 'vitest';
import { createFormatter, ROLLOUT_FORMATS } from '../../../src/agents/rollouts/formats/formats.ts';
import { HarborJob } from '../../../src/agents/rollouts/formats/harbor-job.ts';
import { TokenRecord } from '../../../src/agents/rollouts/record/sampled-tokens.ts';
import { trajectorySchema, type Trajectory, type Turn } from '../../../src/agents/rollouts/record/trajectory.ts';

const record = new TokenRecord();
const AT = '2026-01-01T00:00:00.000Z';

function turn(promptIds: readonly number[], completionIds: readonly number[], changes: Partial<Turn>): Turn {
  return {
    message: { content: 'x', reasoning: null },
    toolCalls: [],
    observations: [],
    finishReason: 'stop',
    tokens: record.add({ promptIds, completionIds, logprobs: completionIds.map((id) => -id), version: 4 }),
    policyVersion: 4,
    usage: { promptTokens: promptIds.length, completionTokens: completionIds.length, cachedTokens: 0 },
    startedAt: AT,
    endedAt: AT,
    ...changes,
  };
}

/** Three turns; before the last one the template has dropped a token. */
const turns = [
  turn([1, 2], [3, 4], {
    message: { content: 'look', reasoning: 'hm' },
    toolCalls: [{ id: 'c1', name: 'run', arguments: '{"command": "ls"}' }],
    observations: [{ toolCall: 'c1', text: 'exit code 0' }],
  }),
  turn([1, 2, 3, 4, 9], [5], {
    toolCalls: [{ id: 'c2', name: 'run', arguments: '{"command": ' }],
    observations: [{ toolCall: 'c2', text: 'Not done' }],
  }),
  turn([1, 2, 4, 9, 5, 9], [6, 7], { observations: [{ toolCall: null, text: 'You called no tool.' }] }),
];

const TRAJECTORY: Trajectory = trajectorySchema.parse({
  format: 1,
  trajectory: 'abc-3',
  task: 'test/task',
  taskDigest: 'sha256:1',
  group: 'g1',
  rep: 3,
  seed: 5,
  taskSeed: 6,
  agent: 'sha256:2',
  model: 'm',
  tools: [{ name: 'run', description: 'runs', parameters: { type: 'object' } }],
  prompt: [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'U' },
  ],
  turns,
  segments: record.listSegments(),
  reward: 0.5,
  components: { gate: 1, correctness: 0.5 },
  verdict: '',
  status: 'completed',
  stopReason: 'no-action',
  timings: { startedAt: AT, endedAt: AT, modelSeconds: 1, actionSeconds: 2 },
  usage: { promptTokens: 13, completionTokens: 5, cachedTokens: 0 },
});

const formatted = (format: (typeof ROLLOUT_FORMATS)[number]): readonly object[] | undefined => createFormatter(format).format(TRAJECTORY);

describe('a trajectory is written', () => {
  it('for verl and slime as a sample for each segment, each with the reward; prompts end before the first sampled token', () => {
    expect(formatted('verl')).toMatchObject([
      {
        prompt_ids: [1, 2],
        response_ids: [3, 4, 9, 5],
        response_mask: [1, 1, 0, 1],
        response_logprobs: [-3, -4, 0, -5],
        reward_score: 0.5,
        num_turns: 2,
      },
      { prompt_ids: [1, 2, 4, 9, 5, 9], response_ids: [6, 7], response_mask: [1, 1], reward_score: 0.5, num_turns: 1 },
    ]);
    expect(formatted('slime')).toMatchObject([
      {
        tokens: [1, 2, 3, 4, 9, 5],
        response_length: 4,
        loss_mask: [1, 1, 0, 1],
        weight_versions: ['4'],
        status: 'completed',
        group_index: 0,
        index: 3,
      },
      { tokens: [1, 2, 4, 9, 5, 9, 6, 7], response_length: 2, loss_mask: [1, 1] },
    ]);
  });

  it('for SkyRL step by step, with the reward on the last step alone', () => {
    const id = { instance_id: 'test/task', repetition_id: 3 };
    expect(formatted('skyrl')).toMatchObject([
      { rewards: 0, is_last_step: false, trajectory_ids: id },
      { rewards: 0.5, is_last_step: true, trajectory_ids: id, loss_masks: [1, 1] },
    ]);
  });

  it('for fine-tuning as messages, with arguments as objects and answers that name their tool', () => {
    expect(formatted('messages')).toMatchObject([
      {
        messages: [
          { role: 'system' },
          { role: 'user' },
          { role: 'assistant', reasoning_content: 'hm', tool_calls: [{ function: { name: 'run', arguments: { command: 'ls' } } }] },
          { role: 'tool', name: 'run', content: 'exit code 0' },
          { role: 'assistant', tool_calls: [{ function: { arguments: { unreadable: '{"command": ' } } }] },
          { role: 'tool' },
          { role: 'assistant', content: 'x' },
          { role: 'user', content: 'You called no tool.' },
        ],
        tools: [{ type: 'function', function: { name: 'run' } }],
      },
    ]);
  });

  it('as ATIF 1.7: tool calls name their steps, and each step has the exact prompt', () => {
    const [atif] = formatted('atif') ?? [];
    expect(atif).toMatchObject({
      schema_version: 'ATIF-v1.7',
      steps: [
        { step_id: 1, source: 'system' },
        { step_id: 2, source: 'user' },
        {
          step_id: 3,
          source: 'agent',
          tool_calls: [{ tool_call_id: 'c1', function_name: 'run', arguments: { command: 'ls' } }],
          observation: { results: [{ source_call_id: 'c1', content: 'exit code 0' }] },
          metrics: { prompt_token_ids: [1, 2], completion_token_ids: [3, 4], logprobs: [-3, -4] },
        },
        { step_id: 4 },
        { step_id: 5, metrics: { prompt_token_ids: [1, 2, 4, 9, 5, 9], completion_token_ids: [6, 7] } },
      ],
      final_metrics: { total_steps: 5, total_prompt_tokens: 13 },
    });
  });

  it('as a job of Harbor, whose totals equal its trials, and in which each segment is a rollout', () => {
    const job = new HarborJob('job', 'file:///jobs/job');
    const failed = { ...TRAJECTORY, trajectory: 'abc-4', reward: null, components: {}, status: 'failed', stopReason: 'refused' } as const;
    const [trial, other] = [job.add(TRAJECTORY), job.add(failed)];
    expect(trial.name).toMatch(/^task__[0-9a-z]{7}$/);
    expect(other.name).not.toBe(trial.name);
    expect(trial.rewards).toEqual({ gate: 1, correctness: 0.5, reward: 0.5 });
    expect(trial.result).toMatchObject({
      trial_uri: `file:///jobs/job/${trial.name}`,
      exception_info: null,
      agent_result: {
        rollout_details: [
          {
            prompt_token_ids: [
              [1, 2],
              [1, 2, 3, 4, 9],
            ],
            completion_token_ids: [[3, 4], [5]],
            logprobs: [[-3, -4], [-5]],
          },
          { prompt_token_ids: [[1, 2, 4, 9, 5, 9]], completion_token_ids: [[6, 7]], logprobs: [[-6, -7]] },
        ],
      },
    });
    expect(other.result).toMatchObject({ verifier_result: null, exception_info: { exception_type: 'AgentError' } });
    const reward = { '0.5': [trial.name] };
    const counted = {
      n_trials: 1,
      n_errors: 1,
      metrics: [{ mean: 0.5 }],
      reward_stats: { reward },
      exception_stats: { AgentError: [other.name] },
    };
    expect(job.result).toMatchObject({
      n_total_trials: 2,
      stats: { n_completed_trials: 2, n_errored_trials: 1, n_input_tokens: 26, n_output_tokens: 10, evals: { muster__m__adhoc: counted } },
    });
  });

  it('as a trace of verifiers, in which each path from a root to a leaf is a segment', () => {
    const [episode] = formatted('verifiers') ?? [];
    const none = { token_ids: [], sampled: false };
    const node = (parent: number | null, role: string, changes: object): object => ({ parent, message: { role }, ...changes });
    expect(episode).toMatchObject({
      env: { id: 'muster' },
      group: { id: 'g1' },
      traces: [
        {
          nodes: [
            node(null, 'system', none),
            node(0, 'user', { token_ids: [1, 2], sampled: false }),
            node(1, 'assistant', { token_ids: [3, 4], sampled: true, mask: [true, true], logprobs: [-3, -4] }),
            node(2, 'tool', { token_ids: [9], sampled: false, mask: [false] }),
            node(3, 'assistant', { token_ids: [5], sampled: true }),
            // The template has dropped a token: what was said before is input now.
            node(null, 'system', none),
            node(5, 'user', none),
            node(6, 'assistant', none),
            node(7, 'tool', none),
            node(8, 'assistant', none),
            node(9, 'tool', { token_ids: [1, 2, 4, 9, 5, 9], sampled: false }),
            node(10, 'assistant', { token_ids: [6, 7], sampled: true }),
          ],
          calls: [2, 4, 11].map((at) => ({ node: at, finish_reason: 'stop' })),
          rewards: { reward: { score: 0.5, weight: 1 } },
        },
      ],
    });
  });

  it('for no trainer when it has no reward, or a turn without exact tokens', () => {
    const [first] = TRAJECTORY.turns;
    for (const unfit of [
      { ...TRAJECTORY, reward: null },
      { ...TRAJECTORY, turns: [{ ...(first ?? turn([], [], {})), tokens: null }] },
    ]) {
      for (const format of ['verl', 'slime', 'skyrl', 'verifiers'] as const) expect(createFormatter(format).format(unfit)).toBeUndefined();
      for (const format of ['muster', 'atif', 'messages'] as const) expect(createFormatter(format).format(unfit)).toHaveLength(1);
    }
  });
});
