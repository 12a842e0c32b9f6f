import { Command, Option } from 'commander';
import type { Muster } from '../../app/main.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { parsePositiveNumber } from '../flags/flag-values.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { addNeededOption } from '../flags/needed-option.ts';
import { print, formatJson } from '../terminal/output.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { addSuiteFlags, type SuiteFlags } from '../flags/run-flags.ts';
import { formatTuning, tuningView } from '../lines/tuning-lines.ts';

/** `muster tune` gets this from the composition root. */
export type OpenTuner = (options: Pick<SuiteFlags, 'config' | 'sandboxes'>) => Promise<Pick<Muster, 'tune' | typeof Symbol.asyncDispose>>;

interface TuneFlags extends SuiteFlags {
  readonly checkpoint: string;
  readonly seconds: number;
}

const DEFAULT_SECONDS = 60;

export function createTuneCommand(open: OpenTuner): Command {
  const command = new Command('tune')
    .summary('find the fastest way to play a suite')
    .description('Plays a suite in several ways and on several numbers of sandboxes, each for a few seconds, and says how fast each is.')
    .argument('<suite>', 'suite file (YAML or JSON)');
  addNeededOption(command, new Option('-c, --checkpoint <path>', 'checkpoint file or directory')).option(
    '-s, --seconds <seconds>',
    'for all trials together; the first takes as long as its sandboxes need to start',
    parsePositiveNumber,
    DEFAULT_SECONDS,
  );
  return addSuiteFlags(command)
    .addHelpText('after', HELP)
    .action(async (suite: string, flags: TuneFlags) => {
      process.exitCode = await runTune(open, suite, flags);
    });
}

const HELP = `
Nothing is kept, and what the episodes return is not looked at. Have the machine to yourself meanwhile.

Exit codes:
  0    done
  1    a defect of Muster
  2    bad input: a suite, checkpoint, configuration or flag
  3    the infrastructure failed
  130  interrupted

Example:
  muster tune examples/game/cartpole.yaml --checkpoint examples/game/checkpoints/late.safetensors`;

async function runTune(open: OpenTuner, suite: string, { checkpoint, seconds, json, ...where }: TuneFlags): Promise<number> {
  using interrupt = watchInterruption(process, 'ending (again to quit at once)');
  const { signal } = interrupt;
  try {
    const tuning = await (async () => {
      await using muster = await open(where);
      using display = openProgressDisplay(tuningView, process.stderr);
      return await muster.tune({ suite, checkpoint, seconds }, { signal, onProgress: (progress) => display.show(progress) });
    })();
    await print(process.stdout, json ? formatJson(tuning) : `${formatTuning(tuning).join('\n')}\n`);
    // Printing may have revealed that stdout is closed.
    return signal.aborted ? EXIT_CODES.interrupted : EXIT_CODES.done;
  } catch (error) {
    const { exitCode, report } = toFailedAttempt(error, signal, 'the last trial was over');
    await print(process.stderr, report);
    return exitCode;
  }
}
