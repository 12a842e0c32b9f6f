import { Command } from 'commander';
import { whenAborted } from '../kernel/deadline.ts';
import type { RunningServer } from '../serve.ts';
import { notice } from './error-report.ts';
import { interruption } from './interruption.ts';
import { print } from './output.ts';

interface ServeFlags {
  readonly config?: string;
}

/** @param serve starts the server for flags. */
export function serveCommand(serve: (flags: ServeFlags) => Promise<RunningServer>): Command {
  return new Command('serve')
    .summary('evaluate for many callers, over HTTP')
    .description('Accepts evaluations over HTTP, plays them, and goes on with them after a restart, however it came about.')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .addHelpText('after', '\nSIGTERM and SIGINT drain it: what is played may finish (server.drainSeconds), the rest is given back.')
    .action(async (flags: ServeFlags) => {
      using interrupt = interruption(process, 'waiting for what is played (again to quit at once)');
      const server = await serve(flags);
      await print(process.stderr, notice(`listening on ${server.url}; its documentation is at ${server.url}/docs`));
      await whenAborted(interrupt.signal);
      await server.close();
    });
}
