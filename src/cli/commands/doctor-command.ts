import { Command } from 'commander';
import { formatDoctorText, getDoctorExitCode, runDoctor } from '../../app/doctor/doctor.ts';
import type { HealthCheck } from '../../kernel/health-check.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';

/** @param checksOf makes the checks for a configuration. */
export function createDoctorCommand(checksOf: (configFile: string | undefined) => readonly HealthCheck[]): Command {
  return new Command('doctor')
    .summary('say what this machine can do')
    .description('Checks what sandboxes need and which of their limits can be enforced here; each finding comes with its remedy.')
    .option('--json', 'print exactly one JSON document on stdout')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .addHelpText('after', '\nExit codes: 0 all that is needed is there, 2 bad configuration, 3 something is missing')
    .action(async (flags: { json?: true; config?: string }) => {
      using interrupt = watchInterruption(process);
      const report = await runDoctor(checksOf(flags.config), interrupt.signal);
      await print(process.stdout, flags.json ? formatJson(report) : escapeUnprintable(formatDoctorText(report)));
      process.exitCode = getDoctorExitCode(report);
    });
}
