import { Command } from 'commander';
import { createInspectCommand, type InspectCheckpoint } from './inspect-command.ts';
import { createVerifyCommand, type OpenCheckpoints } from './verify-command.ts';

export function createCheckpointsCommand(inspect: InspectCheckpoint, open: OpenCheckpoints): Command {
  return new Command('checkpoints')
    .summary('look at checkpoints, and after those that are kept')
    .description('Looks at checkpoints, and after those that are kept on this machine. Nothing of them is run.')
    .addCommand(createInspectCommand(inspect))
    .addCommand(createVerifyCommand(open));
}
