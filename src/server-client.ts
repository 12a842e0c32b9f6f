import { access } from 'node:fs/promises';
import { readSuiteFile } from './adapters/suites/suite-file.ts';
import { MusterClient, type NewEvaluation } from './client/muster-client.ts';
import { systemClock } from './kernel/clock.ts';
import { InputError } from './kernel/errors.ts';
import { configuration } from './main.ts';
import { parseSuite } from './orchestrator/suite-definition.ts';

/** What the commands that speak to a server need of the composition root. */

/** A client of the server that flags name, or of the one that the configuration would start here, with the token of MUSTER_TOKEN. */
export function clientFor({ server, config }: { readonly server?: string; readonly config?: string }): MusterClient {
  const settings = configuration(config).server;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return new MusterClient(server ?? `http://${host}:${settings.port}`, systemClock, { token: process.env['MUSTER_TOKEN'] });
}

/**
 * The suite of a file, checked, or the name as it is when there is no such file.
 *
 * @throws InputError when the suite is wrong, or brings modules: only those that the server has a name for can.
 */
export async function suiteToSend(nameOrPath: string): Promise<NewEvaluation['suite']> {
  const isFile = await access(nameOrPath).then(
    () => true,
    () => false,
  );
  if (!isFile) return nameOrPath;
  const suite = parseSuite(await readSuiteFile(nameOrPath));
  if (suite.files === undefined) return suite;
  throw new InputError(
    'suite.files',
    `${nameOrPath}: files: a suite that is sent cannot bring modules; name it in server.suites of the server, and give that name here`,
  );
}
