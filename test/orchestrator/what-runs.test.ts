import { expect, it } from 'vitest';
import { defineSuite, createInlineLayer, parseSuite } from '../../src/orchestrator/suite/suite-definition.ts';
import { describeExposure, describeWhatRuns } from '../../src/orchestrator/suite/what-runs.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import type { Checkpoint } from '../../src/policy-distribution/checkpoint.ts';

function suite(environment: unknown, filesDigest = false): Parameters<typeof describeWhatRuns>[0] {
  const written = { name: 'fixture', environment, reward: { bounds: [0, 500] }, stop: { rule: 'fixed', episodes: 2 } };
  return defineSuite(parseSuite(createInlineLayer(written)), filesDigest ? digestBytes('modules') : undefined);
}

function checkpoint(...names: readonly string[]): Pick<Checkpoint, 'files'> {
  return { files: names.map((path) => ({ path, size: 1, digest: digestBytes(path) })) };
}

const DATA = checkpoint('policy.safetensors');
const TIME_LIMIT = { entry: 'gymnasium.wrappers:TimeLimit', kwargs: { max_episode_steps: 10 } };

it('an environment of Gymnasium with known wrappers and policies that are data is data', () => {
  expect(describeWhatRuns(suite('gymnasium:CartPole-v1'), [DATA, checkpoint('policy.onnx')])).toBe('data');
  const besides = [checkpoint('policy.onnx', 'policy.onnx.data'), checkpoint('model.safetensors.index.json', 'a/model-1.safetensors')];
  expect(describeWhatRuns(suite('gymnasium:CartPole-v1'), besides)).toBe('data');
  expect(describeWhatRuns(suite({ entry: 'gymnasium:CartPole-v1', wrappers: [TIME_LIMIT] }), [DATA])).toBe('data');
  const lake = { entry: 'gymnasium:FrozenLake-v1', kwargs: { is_slippery: false, success_rate: 0.5, map_name: '8x8' } };
  expect(describeWhatRuns(suite(lake), [DATA])).toBe('data');
});

it.each([
  ['an environment of a module', suite('timeit:timeit'), [DATA]],
  ['one whose name has the module in it', suite('gymnasium:some.module/Evil-v0'), [DATA]],
  ['an environment that Gymnasium does not register itself', suite('gymnasium:Registered-v0'), [DATA]],
  ['one that is handed a text that may be a path', suite({ entry: 'gymnasium:Ant-v5', kwargs: { xml_file: 'ant.xml' } }), [DATA]],
  ['one that is handed a wrapper to call', suite({ entry: 'gymnasium:CartPole-v1', kwargs: { wrappers: ['timeit:timeit'] } }), [DATA]],
  ['one that is to show itself', suite({ entry: 'gymnasium:CartPole-v1', kwargs: { render_mode: 'human' } }), [DATA]],
  ['a function of Gymnasium', suite('gymnasium.envs.registration:register'), [DATA]],
  [
    'a wrapper of which it is not known what it calls',
    suite({ entry: 'gymnasium:CartPole-v1', wrappers: [{ entry: 'gymnasium.wrappers:RecordVideo' }] }),
    [DATA],
  ],
  ['modules of the suite', suite('gymnasium:CartPole-v1', true), [DATA]],
  ['a checkpoint that may bring code', suite('gymnasium:CartPole-v1'), [checkpoint('policy.pt')]],
  ['one of several that may', suite('gymnasium:CartPole-v1'), [DATA, checkpoint('policy.py')]],
  ['a directory that may name an entry', suite('gymnasium:CartPole-v1'), [checkpoint('muster.json', 'policy.safetensors')]],
  ['a directory with a module', suite('gymnasium:CartPole-v1'), [checkpoint('numpy.py', 'policy.onnx')]],
])('%s is code', (_what, written, checkpoints) => {
  expect(describeWhatRuns(written, checkpoints)).toBe('code');
});

it('code is identified by its principal, the suite, and the policy if that contains code', () => {
  const named = (written: Parameters<typeof describeWhatRuns>[0], policy: string): unknown => {
    const defined = { ...written, digest: digestBytes('suite') };
    return describeExposure('ann', defined, { ...checkpoint(policy), digest: digestBytes(policy) });
  };
  const code = { kind: 'code', principal: 'ann', suite: digestBytes('suite') };
  expect(named(suite('gymnasium:CartPole-v1'), 'policy.onnx')).toEqual({ kind: 'data', principal: 'ann' });
  expect(named(suite('timeit:timeit'), 'policy.onnx')).toEqual({ ...code, checkpoint: undefined });
  expect(named(suite('gymnasium:CartPole-v1'), 'policy.py')).toEqual({ ...code, checkpoint: digestBytes('policy.py') });
});
