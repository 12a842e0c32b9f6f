import { parseArgs } from 'node:util';
import { Stage } from '../end-to-end/stage.ts';
import { fuzz } from './schemathesis.ts';

/** `npm run fuzz -- [--seed N] [--examples N]`: the whole of what test/end-to-end/fuzz.test.ts does a little of. */
const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' }, examples: { type: 'string', default: '200' } } });
await using stage = await Stage.open();
const phases = ['coverage', 'fuzzing', 'stateful'] as const;
const { isClean, text, defects } = await fuzz(stage, { seed: Number(values.seed), examples: Number(values.examples), phases });
process.stdout.write([text, ...defects, ''].join('\n'));
process.exitCode = isClean ? 0 : 1;
