import { CommanderError } from 'commander';
import { formatErrorReport } from './terminal/error-report.ts';
import { EXIT_CODES, getExitCode } from './terminal/exit-code.ts';
import { Interrupted } from './terminal/interruption.ts';
import { endOnClosedOutput, print } from './terminal/output.ts';
import { createMusterProgram } from './program.ts';

/** The `muster` command: parses, runs, and turns whatever goes wrong into a message and an exit code. */
endOnClosedOutput(process);
try {
  const args = process.argv.slice(2);
  await (await createMusterProgram(args)).parseAsync(args, { from: 'user' });
} catch (error) {
  process.exitCode = await report(error);
}

async function report(error: unknown): Promise<number> {
  // Commander has printed its own message by now; help and version end with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.badInput;
  if (error instanceof Interrupted) return EXIT_CODES.interrupted;
  await print(process.stderr, formatErrorReport(error));
  return getExitCode(error);
}
