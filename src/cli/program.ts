import { createRequire } from 'node:module';
import { Command } from 'commander';
import { openBatch } from '../batch-input.ts';
import { openCheckpoints } from '../checkpoint-access.ts';
import { inspectionOf } from '../checkpoint-inspection.ts';
import { doctorChecks } from '../doctor-checks.ts';
import { readKeptDocument } from '../kept-results.ts';
import { configuration, Muster } from '../main.ts';
import { plan } from '../plan.ts';
import { watchRun } from '../run-watching.ts';
import { openTokenOffice } from '../token-access.ts';
import { checkpointsCommand } from './checkpoints-command.ts';
import { compareCommand } from './compare-command.ts';
import { doctorCommand } from './doctor-command.ts';
import { evalCommand } from './eval-command.ts';
import { grantCommand } from './grant-command.ts';
import { planCommand } from './plan-command.ts';
import { reportCommand } from './report-command.ts';
import { serve } from '../serve.ts';
import { clientFor, suiteToSend } from '../server-client.ts';
import { cancelCommand, listCommand, poolCommand } from './server-commands.ts';
import { serveCommand } from './serve-command.ts';
import { submitCommand } from './submit-command.ts';
import { watchCommand } from './watch-command.ts';
import { evaluatorOf } from './suite-evaluator.ts';
import { tuneCommand } from './tune-command.ts';
import { tokenCommand } from './token-command.ts';

/** The `muster` command with all that it can do, ready to parse. */
export function musterProgram(): Command {
  const program = new Command('muster')
    .version(packageVersion(), '-V, --version')
    .description('Evaluates reinforcement-learning checkpoints on hundreds of isolated sandboxes.')
    .showHelpAfterError('(--help lists what there is)')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  for (const command of commands()) program.addCommand(command);
  passSettingsOn(program);
  return program;
}

function commands(): readonly Command[] {
  return [
    evalCommand(async (request) => evaluatorOf(await openMuster(request), request)),
    compareCommand(openMuster),
    planCommand((request, signal) => plan(request, configuration(request.config, request.sandboxes), signal)),
    reportCommand(readKeptDocument),
    tuneCommand(openMuster),
    serveCommand(({ config }) => serve(() => configuration(config))),
    submitCommand({ connect: clientFor, suiteToSend, openBatch }),
    watchCommand(clientFor, async (request, hooks) => {
      const config = configuration(request.config, request.sandboxes);
      await using muster = await Muster.open(config);
      return await watchRun(muster, config, request, hooks);
    }),
    listCommand(clientFor),
    cancelCommand(clientFor),
    poolCommand(clientFor),
    doctorCommand((file) => doctorChecks(configuration(file))),
    checkpointsCommand(
      (checkpoint, { config, digest }, signal) => inspectionOf(checkpoint, configuration(config), digest, signal),
      (file) => openCheckpoints(configuration(file)),
    ),
    tokenCommand(openTokenOffice),
    grantCommand(clientFor),
  ];
}

function openMuster({ config, sandboxes }: { readonly config?: string; readonly sandboxes?: number }): Promise<Muster> {
  return Muster.open(configuration(config, sandboxes));
}

/** Commander hands settings on to what is made of a command, and not to what was made before and added. */
function passSettingsOn(command: Command): void {
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    passSettingsOn(inner);
  }
}

function packageVersion(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('../../package.json');
  return version;
}
