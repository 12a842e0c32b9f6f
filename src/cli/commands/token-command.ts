import { Command, Option } from 'commander';
import { type Role, ROLES } from '../../evaluation-store/tokens.ts';
import type { OpenTokenService } from '../../app/client/token-access.ts';
import { describeTokenState, formatTokenTime } from '../../faces/token-state.ts';
import { getMessage, InputError } from '../../kernel/errors.ts';
import { parseTokenId, type TokenId } from '../../kernel/ids.ts';
import type { IssuedToken, ListedToken, TokenActions } from '../../service/access/token-service.ts';
import { parseLifetime } from '../flags/flag-values.ts';
import { addNeededOption } from '../flags/needed-option.ts';
import { alignColumns } from '../lines/columns.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { print, formatJson } from '../terminal/output.ts';

/** `muster token` gets this from the composition root. */
export type OpenTokens = (flags: TokenFlags) => Promise<OpenTokenService>;

interface TokenFlags {
  /** Path of the configuration file that says where the store is. */
  readonly config?: string;
  /** Address of a server that is used instead of the store. */
  readonly server?: string;
  /** Whether the operator's token may travel to another machine without TLS. */
  readonly plainHttp?: true;
  readonly json?: true;
}

const PAGE = 200;

export function createTokenCommand(openTokens: OpenTokens): Command {
  return new Command('token')
    .summary('create, list and revoke the tokens by which a server recognises its callers')
    .description(
      'Asks a running server (--server, or MUSTER_URL unless --config is given) with the token of an operator in MUSTER_TOKEN; or works on the store of the configuration (store.url), which as a SQLite file is open to one process at a time.',
    )
    .addCommand(createCommand(openTokens))
    .addCommand(createListCommand(openTokens))
    .addCommand(createRevokeCommand(openTokens))
    .addHelpText('after', HELP);
}

const HELP = `
Roles:
  viewer     reads evaluations, pools and metrics
  submitter  uploads checkpoints, submits evaluations, and cancels its own
  operator   does all that, cancels any, scales pools, and makes tokens

Examples:
  muster token create admin --role operator --config muster.yaml   # the first one, before "muster serve --config muster.yaml"
  MUSTER_TOKEN=$(muster token create training-pipeline --role submitter --expires 90d)`;

function createCommand(openTokens: OpenTokens): Command {
  const command = new Command('create')
    .summary('make a token and print it, this once')
    .argument('<name>', 'the principal: evaluations, quotas and the audit go by this name');
  addNeededOption(command, new Option('-r, --role <role>', 'what it may do').choices(ROLES)).option(
    '-e, --expires <time>',
    'when it ends: 90d, 12h, 30m from now (default: never)',
    parseLifetime,
  );
  return addSharedOptions(command).action(async (name: string, flags: TokenFlags & { role: Role; expires?: number }) => {
    await using opened = await openAsMeant(openTokens, flags);
    const issued = await opened.office.issue({ principal: name, role: flags.role, lifetimeMs: flags.expires });
    await print(process.stdout, flags.json ? formatJson(toIssuedDocument(issued)) : `${issued.text}\n`);
    if (!flags.json)
      await print(process.stderr, formatNotice(`token ${issued.token.id} for ${name} ${opened.place}; keep it, it is shown this once`));
  });
}

function createListCommand(openTokens: OpenTokens): Command {
  return addSharedOptions(new Command('list').summary('list tokens, the latest first')).action(async (flags: TokenFlags) => {
    await using opened = await openAsMeant(openTokens, flags);
    const tokens = await listAllTokens(opened.office);
    await print(process.stdout, flags.json ? formatJson(tokens) : `${formatTokens(tokens, opened.now(), opened.place).join('\n')}\n`);
  });
}

function createRevokeCommand(openTokens: OpenTokens): Command {
  const command = new Command('revoke').summary('refuse a token from now on').argument('<id>', 'as "muster token list" has it');
  return addSharedOptions(command).action(async (id: string, flags: TokenFlags) => {
    const wanted = parseIdArgument(id);
    await using opened = await openAsMeant(openTokens, flags);
    const revoked = await opened.office.revoke(wanted);
    await print(process.stdout, flags.json ? formatJson(revoked) : `token ${revoked.id} of ${revoked.principal} is refused from now on\n`);
  });
}

async function openAsMeant(openTokens: OpenTokens, flags: TokenFlags): Promise<OpenTokenService> {
  const opened = await openTokens(flags);
  if (opened.remark !== undefined) await print(process.stderr, formatNotice(opened.remark));
  return opened;
}

function addSharedOptions(command: Command): Command {
  return command
    .option('--server <url>', 'ask this server, with the token in MUSTER_TOKEN (default: MUSTER_URL, unless --config is given)')
    .option('--plain-http', 'send that token to another machine without TLS')
    .option('--json', 'print exactly one JSON document on stdout')
    .option('--config <file>', 'work on the store of this configuration (default: of config/default.yaml alone)');
}

async function listAllTokens(office: TokenActions): Promise<readonly ListedToken[]> {
  const tokens: ListedToken[] = [];
  let after: string | undefined;
  do {
    const page = await office.list({ limit: PAGE, after });
    tokens.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return tokens;
}

/** A whole token in place of its id gets an error of its own, because it must not be stored or logged anywhere. */
function parseIdArgument(text: string): TokenId {
  if (text.startsWith('muster_'))
    throw new InputError('token.id', 'expected the id of a token, not the token itself: the 16 digits after "muster_"');
  try {
    return parseTokenId(text);
  } catch (error) {
    throw new InputError('token.id', `${getMessage(error)}; "muster token list" lists them`, { cause: error });
  }
}

function toIssuedDocument({ token: { id, principal, role, expiresAt }, text }: IssuedToken): object {
  return { id, principal, role, expiresAt, token: text };
}

const HEADINGS = ['id', 'principal', 'role', 'made', 'state'] as const;

/** Formats tokens as a table. @param now decides which have expired. @param place where they are kept. */
export function formatTokens(tokens: readonly ListedToken[], now: Date, place: string): readonly string[] {
  if (tokens.length === 0) return [`there are no tokens ${place}`];
  const rows = [
    HEADINGS,
    ...tokens.map(({ id, principal, role, createdAt, expiresAt, revokedAt }) => {
      const times = { expiresAt: expiresAt?.toISOString() ?? null, revokedAt: revokedAt?.toISOString() ?? null };
      return [id, principal, role, formatTokenTime(createdAt.toISOString(), now.getTime()), describeTokenState(times, now.getTime())];
    }),
  ];
  return alignColumns(rows);
}
