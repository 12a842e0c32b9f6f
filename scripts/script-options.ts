import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { getMessage } from '../src/kernel/errors.ts';

/** Ends the process when a script gets --help or unknown options: with the text, or with one line and code 2. */
export function answerOptions(help: string, options: ParseArgsOptionsConfig): void {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: 'boolean' } } });
    if (values['help'] !== true) return;
    process.stdout.write(help);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${getMessage(error)}; see --help\n`);
    process.exit(2);
  }
}
