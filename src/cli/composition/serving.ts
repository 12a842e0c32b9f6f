import type { Command } from 'commander';
import { readConfiguration } from '../../app/configuration.ts';
import type { RunningServer } from '../../app/server/serve.ts';
import { createServeCommand, type ServeFlags } from '../commands/serve-command.ts';
import { createTokenCommand } from '../commands/token-command.ts';

/** The commands that serve other callers. */
export const COMMANDS = {
  serve: (): Command => createServeCommand(openServer),
  token: (): Command => createTokenCommand(async (flags) => (await import('../../app/client/token-access.ts')).openTokenService(flags)),
};

async function openServer({ config, child }: ServeFlags): Promise<RunningServer> {
  const { serve } = await import('../../app/server/serve.ts');
  if (!child) return await serve(() => readConfiguration(config));
  const { createStarter, toChildConfig } = await import('../../app/server/starter.ts');
  return await serve(() => toChildConfig(readConfiguration(config)), createStarter());
}
