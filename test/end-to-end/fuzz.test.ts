import nock from 'nock';
import { beforeAll, expect, it } from 'vitest';
import { fuzz } from '../fuzz/schemathesis.ts';
import { Stage } from './stage.ts';

beforeAll(() => nock.enableNetConnect('127.0.0.1'));

/** A short form of `npm run fuzz`. */
it('a server answers whatever its OpenAPI document allows, and refuses the rest, as the document says', { timeout: 240_000 }, async () => {
  await using stage = await Stage.open();
  const { isClean, text } = await fuzz(stage, { seed: 7, examples: 2, phases: ['fuzzing', 'stateful'] });
  const [selected, all, tested] = (/Selected: (\d+)\/(\d+)\s+Tested: (\d+)\s/.exec(text) ?? []).slice(1).map(Number);
  // All but the one stream that never ends.
  expect([selected, tested]).toEqual([Number(all) - 1, Number(all) - 1]);
  expect(isClean ? '' : text).toBe('');
});
