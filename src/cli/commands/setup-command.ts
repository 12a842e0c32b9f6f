import { Command } from 'commander';
import type { PythonSetup, SetupRequest } from '../../app/python-setup.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';

const HELP = `
For an installation by npm. One by pip uses the Python that it is installed in, and a checkout has npm run setup.
The environment is made in $XDG_DATA_HOME/muster/python (~/.local/share/muster/python). Instead of it a template can name
any Python with NumPy and Gymnasium: MUSTER_TEMPLATES__LOCAL__PYTHON=/path/to/python.
Afterwards "muster doctor" says what else is missing.`;

export type SetUpPython = (request: SetupRequest, say: (line: string) => Promise<void>, signal: AbortSignal) => Promise<PythonSetup>;

/** @param setUp makes the Python environment. */
export function createSetupCommand(setUp: SetUpPython): Command {
  return new Command('setup')
    .summary('make the Python environment that episodes are played in')
    .description('Makes a Python environment with what the runner needs: NumPy, Gymnasium and what reads checkpoints.')
    .option('--python <path>', 'the Python to make it of, 3.11 or newer (default: the one in PATH)')
    .addHelpText('after', HELP)
    .action(async (flags: SetupRequest) => {
      using interrupt = watchInterruption(process);
      const { python, state } = await setUp(flags, (line) => print(process.stderr, formatNotice(line)), interrupt.signal);
      await print(process.stderr, formatNotice(`${describeState(state)}: ${python}; "muster doctor" says what else this machine needs`));
    });
}

function describeState(state: PythonSetup['state']): string {
  switch (state) {
    case 'made':
      return 'ready';
    case 'up to date':
      return 'nothing to do, it is there';
    case 'not needed':
      return 'nothing to do, Muster uses the Python that started it';
  }
}
