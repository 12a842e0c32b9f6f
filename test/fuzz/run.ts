import { parseArgs } from 'node:util';
import { tellStillRunning } from '../../scripts/still-running.ts';
import { endOnClosedOutput } from '../../src/cli/terminal/output.ts';
import { getMessage } from '../../src/kernel/errors.ts';
import { Stage } from '../end-to-end/stage.ts';
import { fuzz } from './schemathesis.ts';

const HELP = `Sends what the OpenAPI document allows, and what it forbids, to a real server, and holds each answer against the document.

  npm run fuzz -- [--seed N] [--examples N] [--only REGEX]

  --seed N       of what is sent (1); another one is another run
  --examples N   requests of each call (200)
  --only REGEX   calls whose path it fits: '/episodes'

Exit code 1 when an answer is not as the document says. test/end-to-end/fuzz.test.ts does a little of it.
`;

/** @returns undefined when the command line is wrong, which has been said. */
function readOptions() {
  try {
    const options = {
      help: { type: 'boolean' },
      seed: { type: 'string' },
      examples: { type: 'string' },
      only: { type: 'string' },
    } as const;
    const { help = false, seed = '1', examples = '200', only } = parseArgs({ options }).values;
    const wrong = Object.entries({ seed, examples }).find(([, text]) => !/^\d+$/.test(text));
    if (wrong) throw new Error(`--${wrong[0]}: expected a number, got ${wrong[1]}`);
    return { help, seed: Number(seed), examples: Number(examples), only };
  } catch (error) {
    process.stderr.write(`${getMessage(error)}; see --help\n`);
    return undefined;
  }
}

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 2;
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await using stage = await Stage.open();
  const phases = ['coverage', 'fuzzing', 'stateful'] as const;
  const { seed, examples, only } = options;
  process.stderr.write(`schemathesis sends ${examples} requests of each call; what it finds comes at the end\n`);
  using _beats = tellStillRunning((seconds) => process.stderr.write(`still running, for ${seconds} s\n`));
  const { isClean, text, defects } = await fuzz(stage, { seed, examples, only, phases });
  process.stdout.write([text, ...defects, ''].join('\n'));
  return isClean ? 0 : 1;
}

endOnClosedOutput(process);
process.exitCode = await main();
