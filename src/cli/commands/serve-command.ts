import { Command } from 'commander';
import { waitForAbort } from '../../kernel/deadline.ts';
import { PACKAGE_VERSION } from '../../kernel/package-root.ts';
import type { Reload } from '../../app/server/reload.ts';
import type { RunningServer } from '../../app/server/serve.ts';
import { formatErrorReport, formatNotice } from '../terminal/error-report.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';

export interface ServeFlags {
  readonly config?: string;
  readonly child?: true;
}

const HELP = `
Address, port and all else are settings: server.host, server.port in the file, or MUSTER_SERVER__PORT=9000.
SIGTERM and SIGINT drain it: running evaluations may finish (server.drainSeconds), the others wait for the next start.
With --child it listens on a free port of loopback, for one token, and then prints a line of JSON: { url, token, version }. It ends when its stdin ends, also when the program at the other end was killed.
SIGHUP makes it read its configuration again; running evaluations continue.`;

/** @param serve starts the server for flags. */
export function createServeCommand(serve: (flags: ServeFlags) => Promise<RunningServer>): Command {
  return new Command('serve')
    .summary('evaluate for many callers, over HTTP')
    .description('Accepts evaluations over HTTP, plays them, and continues them after any restart.')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--child', 'serve the program that starts it, and end with it')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      using interrupt = watchInterruption(process, 'waiting for what is played, for server.drainSeconds at most (again to quit at once)', [
        'SIGINT',
        'SIGTERM',
      ]);
      // Before the server is open, there is nothing to reload.
      using reloads = listenForHangUp();
      const server = await serve(flags);
      reloads.open(() => server.reload());
      for (const problem of server.problems) await print(process.stderr, formatNotice(problem));
      await print(process.stderr, formatNotice(`listening on ${server.url}; its documentation is at ${server.url}/docs`));
      const { url, token } = server;
      if (flags.child) await print(process.stdout, `${JSON.stringify({ url, token, version: PACKAGE_VERSION })}\n`);
      await waitForAbort(flags.child ? AbortSignal.any([interrupt.signal, watchForEnd(process.stdin)]) : interrupt.signal);
      await reloads.waitUntilSettled();
      await server.close();
    });
}

/** Returns a signal that is aborted when all processes that held the other end of the stream have ended. */
function watchForEnd(stdin: NodeJS.ReadStream): AbortSignal {
  const controller = new AbortController();
  for (const event of ['end', 'close', 'error']) stdin.once(event, () => controller.abort());
  stdin.resume();
  return controller.signal;
}

interface Reloads extends Disposable {
  /** Reloads on the signal from now on. */
  open(reload: () => Promise<Reload>): void;
  /** Resolves when no reload is under way. */
  waitUntilSettled(): Promise<void>;
}

/** Reloads the configuration at each SIGHUP, one at a time, and reports the result. */
function listenForHangUp(): Reloads {
  let reload: (() => Promise<Reload>) | undefined;
  let last: Promise<void> = Promise.resolve();
  const reloadOnce = async (): Promise<void> => {
    try {
      const text = reload ? formatReload(await reload()) : 'the server is not open yet';
      await print(process.stderr, formatNotice(`SIGHUP: ${text}`));
    } catch (error) {
      await print(process.stderr, formatErrorReport(error));
    }
  };
  const onSignal = (): void => void (last = last.then(reloadOnce));
  process.on('SIGHUP', onSignal);
  return {
    open: (opened) => void (reload = opened),
    waitUntilSettled: () => last,
    [Symbol.dispose]: () => void process.off('SIGHUP', onSignal),
  };
}

function formatReload(result: Reload): string {
  switch (result.kind) {
    case 'refused':
      return `the configuration in force stays; correct this and send the signal again:\n${result.problem}`;
    case 'reloaded': {
      const changed = result.changed.length === 0 ? 'nothing has changed' : `changed ${result.changed.join(', ')}`;
      const pending = result.pending.length === 0 ? [] : [`; these take a restart: ${result.pending.join(', ')}`];
      return [changed, ...pending, ...result.problems.map((problem) => `\n${problem}`)].join('');
    }
  }
}
