import { describe, expect, it } from 'vitest';
import { listContentToShare } from '../../src/app/checkpoints/content-to-share.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { defineSuite, createInlineLayer, parseSuite, type SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { StoredCheckpoint } from '../../src/policy-distribution/stored-checkpoint.ts';
import { Distributor } from '../../src/policy-distribution/delivery/distributor.ts';

const LARGE = 4 * 2 ** 20;
const NEVER = new AbortController().signal;
type Settings = Parameters<typeof listContentToShare>[1];
const SETTINGS: Settings = { sharedPolicies: 'auto', sharedCode: [], policy: 'together', episodesPerSandbox: 1000 };

function stored(name: string, size: number, kind: StoredCheckpoint['kind'] = 'file', ...others: readonly string[]): StoredCheckpoint {
  const files = [name, ...others].map((path, i) => ({
    path,
    size: i === 0 ? size : 1,
    digest: digestBytes(path),
    hostPath: `/store/${path}`,
  }));
  return { digest: digestBytes(`${kind} ${name} ${size}`), kind, files, labels: {} };
}

function suite(changes: object = {}): SuiteDefinition {
  const base = { name: 'game', environment: 'maze:Maze', reward: { bounds: [0, 1] }, stop: { rule: 'fixed', episodes: 2 } };
  return defineSuite(parseSuite(createInlineLayer({ ...base, ...changes })), undefined);
}

const files = stored('maze.py', 1000, 'directory');

describe('what the sandboxes of an evaluation share', () => {
  it.each([
    ['a large one that is data alone', stored('p.safetensors', LARGE), true],
    ['a large one of the other format that is data', stored('p.onnx', LARGE), true],
    ['a large directory, of which its loader finds out what is data', stored('p.safetensors', LARGE, 'directory', 'muster.json'), true],
    ['not one that is loaded as fast as it is shared', stored('p.safetensors', LARGE - 1), false],
    ['not a large one that may be code', stored('p.pt', LARGE), false],
  ])('is, of policies, %s', (_, checkpoint, isShared) => {
    const content = listContentToShare({ suite: suite(), suiteFiles: undefined, checkpoints: [checkpoint] }, SETTINGS, new Distributor());
    const shared = content.map(({ kind, digest }) => [kind, digest]);
    expect(shared).toEqual(isShared ? [['policy', checkpoint.digest]] : []);
  });

  it.each([
    ['a small one that is data alone', stored('p.safetensors', 10), true],
    ['not one that may be code', stored('p.pt', 10), false],
    ['not a small directory, which may have code in it', stored('p.safetensors', 10, 'directory', 'muster.json'), false],
    ['a large directory as ever', stored('p.safetensors', LARGE, 'directory', 'muster.json'), true],
  ])('is, where each episode has a sandbox of its own, %s', (_, checkpoint, isShared) => {
    const settings: Settings = { ...SETTINGS, episodesPerSandbox: 1 };
    const content = listContentToShare({ suite: suite(), suiteFiles: undefined, checkpoints: [checkpoint] }, settings, new Distributor());
    expect(content.map(({ digest }) => digest)).toEqual(isShared ? [checkpoint.digest] : []);
  });

  it('is every checkpoint of a comparison that is large enough', () => {
    const checkpoints = [stored('a.onnx', LARGE), stored('b.onnx', 10), stored('c.onnx', LARGE + 1)];
    const content = listContentToShare({ suite: suite(), suiteFiles: undefined, checkpoints }, SETTINGS, new Distributor());
    expect(content.map(({ digest }) => digest)).toEqual([checkpoints[0]?.digest, checkpoints[2]?.digest]);
  });

  it('is no policy when the template says never', () => {
    const settings: Settings = { ...SETTINGS, sharedPolicies: 'never' };
    const played = { suite: suite(), suiteFiles: undefined, checkpoints: [stored('p.onnx', LARGE)] };
    expect(listContentToShare(played, settings, new Distributor())).toEqual([]);
  });

  it('includes a checkpoint with code only when it is named by its digest, whatever its size', () => {
    const checkpoint = stored('p.pt', 10);
    const named: Settings = { ...SETTINGS, sharedPolicies: 'never', sharedCode: [checkpoint.digest] };
    const played = { suite: suite(), suiteFiles: undefined, checkpoints: [checkpoint, stored('q.pt', LARGE)] };
    expect(listContentToShare(played, named, new Distributor())).toEqual([
      { kind: 'policy', digest: checkpoint.digest, trusted: true, deliver: expect.any(Function) },
    ]);
  });

  it('includes the suite’s own code only when the suite is named: each module once, before the policies', () => {
    const tasks = [
      { name: 'a', environment: { entry: 'maze:Maze', wrappers: [{ entry: 'wrappers:Shorter' }, { entry: 'gymnasium:ClipAction' }] } },
      { name: 'b', environment: 'maze:Harder' },
      { name: 'c', environment: 'gymnasium:CartPole-v1' },
    ];
    const played = { suite: suite({ environment: undefined, tasks }), suiteFiles: files, checkpoints: [stored('p.onnx', LARGE)] };
    expect(listContentToShare(played, SETTINGS, new Distributor()).map(({ kind }) => kind)).toEqual(['policy']);
    const [code, policy] = listContentToShare(played, { ...SETTINGS, sharedCode: ['game'] }, new Distributor());
    expect(code).toEqual({ kind: 'code', digest: files.digest, modules: ['maze', 'wrappers'], deliver: expect.any(Function) });
    expect(policy?.kind).toBe('policy');
  });

  it('has no code for a suite without modules', () => {
    const played = { suite: suite({ environment: 'gymnasium:CartPole-v1' }), suiteFiles: undefined, checkpoints: [] };
    expect(listContentToShare(played, { ...SETTINGS, sharedCode: ['game'] }, new Distributor())).toEqual([]);
  });

  it('is delivered file by file', async () => {
    const uploads: string[] = [];
    const target = {
      upload: (path: string) => {
        uploads.push(path);
        return Promise.resolve(`/inside/${path}`);
      },
    };
    const checkpoint = stored('p.safetensors', LARGE, 'directory', 'muster.json');
    const [content] = listContentToShare({ suite: suite(), suiteFiles: undefined, checkpoints: [checkpoint] }, SETTINGS, new Distributor());
    const place = checkpoint.digest.replace('sha256:', '');
    expect(await content?.deliver(target, NEVER)).toBe(`/inside/${place}`);
    expect(uploads).toEqual([`${place}/p.safetensors`, `${place}/muster.json`]);
  });
});
