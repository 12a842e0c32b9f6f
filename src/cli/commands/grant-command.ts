import { Command } from 'commander';
import type { Grant } from '../../faces/http/schemas/grant-schemas.ts';
import { InputError } from '../../kernel/errors.ts';
import { alignColumns } from '../lines/columns.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';

const HEADINGS = ['principal', 'granted by', 'since'] as const;

export function createGrantCommand(connect: Connect): Command {
  return new Command('grant')
    .summary('let other principals use a checkpoint on a server')
    .description(
      'A checkpoint on a server may be used by the principals that sent it, and by those to which one of them, an operator or the configuration (server.grants) has granted it. Asks the server with the token in MUSTER_TOKEN.',
    )
    .addCommand(createAddCommand(connect))
    .addCommand(createListCommand(connect))
    .addCommand(createRevokeCommand(connect));
}

function createAddCommand(connect: Connect): Command {
  const command = new Command('add')
    .summary('let a principal use a checkpoint')
    .argument('<sha256>', CHECKPOINT)
    .argument('<principal>', PRINCIPAL);
  return addServerFlags(command).action(async (sha256: string, principal: string, flags: ServerFlags) => {
    const digest = getHex(sha256);
    using interrupt = watchInterruption(process);
    const grant = await connect(flags).grant(digest, principal, interrupt.signal);
    await print(process.stdout, flags.json ? formatJson(grant) : `${grant.principal} may use ${grant.sha256} from now on\n`);
  });
}

function createListCommand(connect: Connect): Command {
  const command = new Command('list').summary('list the grants that you made; as an operator, all grants').argument('<sha256>', CHECKPOINT);
  return addServerFlags(command).action(async (sha256: string, flags: ServerFlags) => {
    const digest = getHex(sha256);
    using interrupt = watchInterruption(process);
    const grants = await connect(flags).grants(digest, interrupt.signal);
    await print(process.stdout, flags.json ? formatJson(grants) : `${formatGrantLines(grants).join('\n')}\n`);
  });
}

function createRevokeCommand(connect: Connect): Command {
  const command = new Command('revoke')
    .summary('no longer let a principal use a checkpoint')
    .argument('<sha256>', CHECKPOINT)
    .argument('<principal>', PRINCIPAL);
  return addServerFlags(command).action(async (sha256: string, principal: string, flags: ServerFlags) => {
    const digest = getHex(sha256);
    using interrupt = watchInterruption(process);
    const revoked = await connect(flags).revokeGrant(digest, principal, interrupt.signal);
    await print(process.stdout, flags.json ? formatJson(revoked) : `${formatRevokedLine(revoked, digest, principal)}\n`);
  });
}

const CHECKPOINT = 'of the checkpoint, as "sha256sum" prints it';
const PRINCIPAL = 'as tokens have it';

function formatGrantLines(grants: readonly Grant[]): readonly string[] {
  if (grants.length === 0) return ['there are no grants'];
  return alignColumns([HEADINGS, ...grants.map(({ principal, grantedBy, at }) => [principal, grantedBy, at.slice(0, 10)])]);
}

function formatRevokedLine(revoked: readonly Grant[], digest: string, principal: string): string {
  return revoked.length === 0
    ? `there was no grant of ${digest} to ${principal}`
    : `${principal} may no longer use ${digest}, unless it has sent it or server.grants allows it`;
}

/** @throws InputError `checkpoint.sha256` */
function getHex(text: string): string {
  const hex = text.replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(hex)) return hex;
  throw new InputError(
    'checkpoint.sha256',
    `expected the SHA-256 of a checkpoint, 64 lower-case hexadecimal digits, got "${text.slice(0, 80)}"`,
  );
}
