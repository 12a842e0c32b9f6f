import type { Command } from 'commander';
import { readConfiguration } from '../../app/configuration.ts';
import { createClient } from '../../app/client/server-client.ts';
import { Muster } from '../../app/main.ts';
import { plan } from '../../app/plan.ts';
import { openResultLog } from '../../app/result-log.ts';
import { watchRun } from '../../app/run-watching.ts';
import { createCompareCommand } from '../commands/compare-command.ts';
import { createEvalCommand } from '../commands/eval-command.ts';
import { createPlanCommand } from '../commands/plan-command.ts';
import { createReplayCommand } from '../commands/replay-command.ts';
import { openEvaluator } from '../commands/suite-evaluator.ts';
import { createTuneCommand } from '../commands/tune-command.ts';
import { createWatchCommand } from '../commands/watch-command.ts';

/** The commands that play episodes in this process. */
export const COMMANDS = {
  eval: (): Command => createEvalCommand(async (request) => openEvaluator(await openMuster(request), request), openResultLog),
  compare: (): Command => createCompareCommand(openMuster),
  plan: (): Command => createPlanCommand((request, signal) => plan(request, readConfiguration(request.config, request.sandboxes), signal)),
  replay: (): Command =>
    createReplayCommand(async ({ config, ...request }, signal) => {
      await using muster = await Muster.open(readConfiguration(config));
      return await muster.replay(request, { signal });
    }, createClient),
  tune: (): Command => createTuneCommand(openMuster),
  watch: (): Command =>
    createWatchCommand(
      createClient,
      async (request, hooks) => {
        const config = readConfiguration(request.config, request.sandboxes);
        await using muster = await Muster.open(config);
        return await watchRun(muster, config, request, hooks);
      },
      openResultLog,
    ),
};

function openMuster({ config, sandboxes }: { readonly config?: string; readonly sandboxes?: number }): Promise<Muster> {
  return Muster.open(readConfiguration(config, sandboxes));
}
