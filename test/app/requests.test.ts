import { describe, expect, it } from 'vitest';
import * as errors from '../../src/faces/client/client-errors.ts';
import { evaluate, EvaluationFailedError, InfrastructureError, InputError, Muster, MusterError } from '../../src/app/main.ts';
import { assertComparison } from '../../src/app/requests.ts';

/** As a program calls it whose types were never looked at. */
const untyped: (...given: readonly unknown[]) => Promise<unknown> = Object(evaluate);

const pair = { suite: 'suite.yaml', baseline: 'early.safetensors', candidates: ['late.safetensors'] };
const asked = { suite: 'suite.yaml', checkpoint: 'late.safetensors' };

describe('the library', () => {
  it('exports the errors that it throws', () => {
    expect(new InputError('a.b', '')).toBeInstanceOf(MusterError);
    expect(EvaluationFailedError.prototype).toBeInstanceOf(InfrastructureError);
    expect(errors).toMatchObject({ InputError, InfrastructureError, MusterError });
  });

  it.each([
    ['nothing at all', [], 'evaluate(): expected an object with suite, stop, changes, checkpoint, labels, got undefined'],
    ['a mistyped key', [{ suite: 'a.yaml', checkpont: 'b' }], 'evaluate(): checkpont: unknown key; did you mean "checkpoint"?'],
    [
      'an unknown key',
      [{ ...asked, episodes: 5 }],
      'evaluate(): episodes: unknown key; expected one of suite, stop, changes, checkpoint, labels',
    ],
    [
      'an option beside the checkpoint',
      [{ ...asked, signal: AbortSignal.abort() }],
      'evaluate(): signal: unknown key; it belongs into the other argument of the call',
    ],
    [
      'a mistyped option',
      [asked, { onprogress: () => undefined }],
      'options of evaluate(): onprogress: unknown key; did you mean "onProgress"?',
    ],
    ['another mistyped option', [asked, { sandboxs: 4 }], 'options of evaluate(): sandboxs: unknown key; did you mean "sandboxes"?'],
    ['no sandboxes', [asked, { sandboxes: 0 }], 'options of evaluate(): sandboxes: expected a whole number from 1 on, got 0'],
    ['an invalid number', [asked, { sandboxes: Number.NaN }], 'expected a whole number from 1 on, got NaN'],
    ['an invalid signal', [asked, { signal: true }], 'options of evaluate(): signal: expected an AbortSignal, got true'],
    ['an invalid listener', [asked, { onProgress: 5 }], 'options of evaluate(): onProgress: expected a function, got 5'],
    ['no suite', [{ checkpoint: 'b' }], 'evaluate(): suite: expected the path of a suite file, or a suite as an object, got undefined'],
    [
      'no checkpoint',
      [{ suite: 'a.yaml' }],
      'evaluate(): checkpoint: expected the path or URI of a checkpoint, as a string, got undefined',
    ],
    ['a URL object', [{ ...asked, checkpoint: new URL('file:///b') }], 'the path or URI of a checkpoint, as a string, got a URL'],
  ])('refuses %s, and says what it expected', async (_, given, message) => {
    const refused: unknown = await untyped(...given).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InputError);
    expect(String(refused)).toContain(message);
  });

  it.each([
    ['a term beside the candidates', { ...pair, margin: 10 }, 'compare(): margin: unknown key; expected below another key: terms.margin'],
    [
      'no candidates',
      { ...pair, candidates: [] },
      'compare(): candidates: expected a list of paths or URIs of checkpoints, one at least, got []',
    ],
  ])('refuses a comparison with %s', (_, given, message) => {
    expect(() => assertComparison(given, {})).toThrow(message);
  });

  it.each([[undefined], [{ pool: { max: 3 } }]])('refuses the invalid configuration %j before it opens anything', async (given) => {
    const open: (config: unknown) => Promise<unknown> = Object(Muster.open.bind(Muster));
    await expect(open(given)).rejects.toThrow('Muster.open(): expected a configuration, as readConfiguration(FILE, SANDBOXES) gives one');
  });
});
