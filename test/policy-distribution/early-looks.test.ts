import { describe, expect, it } from 'vitest';
import { digestOf } from '../../src/kernel/canonical-json.ts';
import type { RecordedCheckpoint } from '../../src/policy-distribution/store/checkpoint-records.ts';
import { EarlyLooks } from '../../src/policy-distribution/store/early-looks.ts';

function checkpoint(content: string, path = 'policy.onnx', revision = '1'): RecordedCheckpoint {
  const digest = digestOf(content);
  return { digest, kind: 'file', files: [{ path, size: 1, digest, bucketObject: { uri: 'gs://bucket/policy.onnx', revision } }] };
}

/** A store where nothing is, which writes down what is looked for. */
function scene(): { readonly early: EarlyLooks; readonly looked: RecordedCheckpoint[] } {
  const looked: RecordedCheckpoint[] = [];
  const early = new EarlyLooks(async (wanted) => {
    looked.push(wanted);
    return undefined;
  });
  return { early, looked };
}

describe('a checkpoint that is asked for by its address', () => {
  it('is looked for once it is known which one it is, the first time', async () => {
    const { early, looked } = scene();
    const look = early.begin('gs://bucket/policy.onnx');
    expect(looked).toEqual([]);
    await look(checkpoint('a'));
    expect(looked).toEqual([checkpoint('a')]);
  });

  it('is looked for at once when it is asked for again, and not a second time', async () => {
    const { early, looked } = scene();
    await early.begin('gs://bucket/policy.onnx')(checkpoint('a'));
    const look = early.begin('gs://bucket/policy.onnx');
    expect(looked).toHaveLength(2);
    await look(checkpoint('a'));
    expect(looked).toHaveLength(2);
  });

  it.each([
    ['another content', checkpoint('b')],
    ['another name of its file', checkpoint('a', 'other.onnx')],
    ['another version of its object', checkpoint('a', 'policy.onnx', '2')],
  ])('is looked for anew when it has become %s', async (_, other) => {
    const { early, looked } = scene();
    await early.begin('gs://bucket/policy.onnx')(checkpoint('a'));
    await early.begin('gs://bucket/policy.onnx')(other);
    expect(looked).toEqual([checkpoint('a'), checkpoint('a'), other]);
    await early.begin('gs://bucket/policy.onnx')(other);
    expect(looked).toHaveLength(4);
  });

  it('is forgotten when many files stand at addresses that were asked for later', async () => {
    const { early, looked } = scene();
    const large = (content: string): RecordedCheckpoint => {
      const digest = digestOf(content);
      return { digest, kind: 'directory', files: Array.from({ length: 6000 }, (_, i) => ({ path: `${i}.bin`, size: 1, digest })) };
    };
    await early.begin('/first')(large('a'));
    await early.begin('/second')(large('b'));
    early.begin('/first');
    expect(looked).toHaveLength(2);
    early.begin('/second');
    expect(looked).toHaveLength(3);
  });

  it('has nothing to do with what stands at another address', async () => {
    const { early, looked } = scene();
    await early.begin('gs://bucket/policy.onnx')(checkpoint('a'));
    early.begin('gs://bucket/other.onnx');
    expect(looked).toHaveLength(1);
  });
});

describe('an early look that fails', () => {
  it('is the matter of whoever asks for what it was for, and of nobody else', async () => {
    let answers = 0;
    const early = new EarlyLooks(() => ((answers += 1) === 2 ? Promise.reject(new Error('unreadable')) : Promise.resolve(undefined)));
    await early.begin('/a')(checkpoint('a'));
    const look = early.begin('/a');
    await expect(look(checkpoint('a'))).rejects.toThrow('unreadable');
    early.begin('/a');
  });
});
