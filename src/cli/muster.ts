import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { openBatch } from '../batch-input.ts';
import { openCheckpoints } from '../checkpoint-access.ts';
import { inspectionOf } from '../checkpoint-inspection.ts';
import { doctorChecks } from '../doctor-checks.ts';
import { configuration, Muster } from '../main.ts';
import { plan } from '../plan.ts';
import { watchRun } from '../run-watching.ts';
import { openTokenOffice } from '../token-access.ts';
import { checkpointsCommand } from './checkpoints-command.ts';
import { compareCommand } from './compare-command.ts';
import { doctorCommand } from './doctor-command.ts';
import { errorReport } from './error-report.ts';
import { evalCommand } from './eval-command.ts';
import { EXIT_CODES, exitCodeOf } from './exit-code.ts';
import { Interrupted } from './interruption.ts';
import { heedOutputErrors, print } from './output.ts';
import { planCommand } from './plan-command.ts';
import { serve } from '../serve.ts';
import { clientFor, suiteToSend } from '../server-client.ts';
import { cancelCommand, listCommand, poolCommand } from './server-commands.ts';
import { serveCommand } from './serve-command.ts';
import { submitCommand } from './submit-command.ts';
import { watchCommand } from './watch-command.ts';
import { evaluatorOf } from './suite-evaluator.ts';
import { tuneCommand } from './tune-command.ts';
import { tokenCommand } from './token-command.ts';

/** The `muster` command: parses, runs, and turns whatever goes wrong into a message and an exit code. */
heedOutputErrors(process);
const program = new Command('muster')
  .version(packageVersion(), '-V, --version')
  .description('Evaluates reinforcement-learning checkpoints on hundreds of isolated sandboxes.')
  .showHelpAfterError('(--help lists what there is)')
  .showSuggestionAfterError()
  .configureHelp({ showGlobalOptions: true })
  .exitOverride();
const evaluateCommand = evalCommand(async (request) =>
  evaluatorOf(await Muster.open(configuration(request.config, request.sandboxes)), request),
);
program.addCommand(evaluateCommand.copyInheritedSettings(program));
program.addCommand(compareCommand(({ config, sandboxes }) => Muster.open(configuration(config, sandboxes))).copyInheritedSettings(program));
program.addCommand(
  planCommand((request, signal) => plan(request, configuration(request.config, request.sandboxes), signal)).copyInheritedSettings(program),
);
program.addCommand(tuneCommand(({ config, sandboxes }) => Muster.open(configuration(config, sandboxes))).copyInheritedSettings(program));
program.addCommand(serveCommand(({ config }) => serve(() => configuration(config))).copyInheritedSettings(program));
const submitting = submitCommand({ connect: clientFor, suiteToSend, openBatch });
const watching = watchCommand(clientFor, async (request, hooks) => {
  const config = configuration(request.config, request.sandboxes);
  await using muster = await Muster.open(config);
  return await watchRun(muster, config, request, hooks);
});
for (const command of [submitting, watching, listCommand(clientFor), cancelCommand(clientFor)])
  program.addCommand(command.copyInheritedSettings(program));
program.addCommand(poolCommand(clientFor).copyInheritedSettings(program));
program.addCommand(doctorCommand((file) => doctorChecks(configuration(file))).copyInheritedSettings(program));
const checkpoints = checkpointsCommand(
  (checkpoint, { config, digest }, signal) => inspectionOf(checkpoint, configuration(config), digest, signal),
  (file) => openCheckpoints(configuration(file)),
);
for (const group of [checkpoints, tokenCommand(openTokenOffice)]) {
  group.copyInheritedSettings(program);
  for (const command of group.commands) command.copyInheritedSettings(group);
  program.addCommand(group);
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = await report(error);
}

function packageVersion(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('../../package.json');
  return version;
}

async function report(error: unknown): Promise<number> {
  // Commander has printed its own message by now; help and version end with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.badInput;
  if (error instanceof Interrupted) return EXIT_CODES.interrupted;
  await print(process.stderr, errorReport(error));
  return exitCodeOf(error);
}
