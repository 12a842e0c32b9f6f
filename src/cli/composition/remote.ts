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

export function composeSubmit(): Command {
  return createSubmitCommand({ connect: createClient, suiteToSend: readSuiteToSend, openBatch });
}

export function composeList(): Command {
  return createListCommand(createClient);
}

export function composeCancel(): Command {
  return createCancelCommand(createClient);
}

export function composeTop(): Command {
  return createTopCommand(createClient);
}

export function composePool(): Command {
  return createPoolCommand(createClient);
}

export function composeGrant(): Command {
  return createGrantCommand(createClient);
}

export function composeEpisode(): Command {
  return createEpisodeCommand(createClient);
}

export function composeMcp(): Command {
  return createMcpCommand(createClient);
}

export function composeReward(): Command {
  return createRewardCommand(createClient);
}
