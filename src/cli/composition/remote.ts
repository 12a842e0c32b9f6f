import type { Command } from 'commander';
import { openBatch } from '../../app/client/batch-input.ts';
import { createClient, readSuiteToSend } from '../../app/client/server-client.ts';
import { createGrantCommand } from '../commands/grant-command.ts';
import { createCancelCommand, createPoolCommand, createListCommand } from '../commands/server-commands.ts';
import { createSubmitCommand } from '../commands/submit-command.ts';
import { createTopCommand } from '../commands/top-command.ts';
import { createEpisodeCommand } from '../commands/tasks/episode-command.ts';
import { createMcpCommand } from '../commands/tasks/mcp-command.ts';
import { createRewardCommand } from '../commands/tasks/reward-command.ts';

/** The commands that use a server. */
export const COMMANDS = {
  submit: (): Command => createSubmitCommand({ connect: createClient, suiteToSend: readSuiteToSend, openBatch }),
  list: (): Command => createListCommand(createClient),
  cancel: (): Command => createCancelCommand(createClient),
  top: (): Command => createTopCommand(createClient),
  pool: (): Command => createPoolCommand(createClient),
  grant: (): Command => createGrantCommand(createClient),
  episode: (): Command => createEpisodeCommand(createClient),
  mcp: (): Command => createMcpCommand(createClient),
  reward: (): Command => createRewardCommand(createClient),
};
