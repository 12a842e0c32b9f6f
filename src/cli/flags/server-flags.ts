import type { Command } from 'commander';
import type { MusterClient } from '../../faces/client/muster-client.ts';

/** Flags of the commands that use a server. */
export interface ServerFlags {
  /** Its address. */
  readonly server?: string;
  /** Path of a configuration file, for the address. */
  readonly config?: string;
  /** Whether a token may travel to another machine without TLS. */
  readonly plainHttp?: true;
  readonly json?: true;
}

/**
 * Opens a client for the flags. @param patienceSeconds how long to keep trying when a failure may pass; by default as long as a person
 * would wait.
 */
export type Connect = (flags: ServerFlags & { readonly patienceSeconds?: number }) => MusterClient;

export function addServerFlags(command: Command): Command {
  return command
    .option('--server <url>', 'address of the server (default: MUSTER_URL, or server.host and server.port of the configuration)')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--plain-http', 'send the token of MUSTER_TOKEN to another machine without TLS')
    .option('--json', 'print JSON on stdout');
}
