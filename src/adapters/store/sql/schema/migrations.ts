import type { Dialect, JsonReading } from './database.ts';

export interface Migration {
  /** Its purpose, for the record. */
  readonly name: string;
  statements(dialect: Dialect): readonly string[];
}

/**
 * The database's structure, step by step: number n is the n-th. Each is applied once, in order, and never undone; what has been released is
 * never changed, only followed by another.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: 'evaluations, episodes, events, webhooks, audit',
    statements: ({ identity, id, clustered }) => [
      `CREATE TABLE evaluations (
         key ${identity}, id ${id} NOT NULL UNIQUE, principal text NOT NULL, suite text NOT NULL, run text, version bigint, labels text NOT NULL,
         priority bigint NOT NULL, request text NOT NULL, state text NOT NULL, created_at bigint NOT NULL, started_at bigint, ended_at bigint,
         cancel_requested_at bigint, running text, summary text, failure text, events bigint NOT NULL)`,
      'CREATE INDEX evaluations_by_age ON evaluations (created_at, id)',
      'CREATE INDEX evaluations_by_run ON evaluations (run, created_at, id)',
      'CREATE INDEX evaluations_by_suite ON evaluations (suite, created_at, id)',
      `CREATE INDEX evaluations_open ON evaluations (priority, created_at, id) WHERE state IN ('waiting', 'running')`,
      `CREATE INDEX evaluations_ended ON evaluations (ended_at) WHERE ended_at IS NOT NULL`,
      `CREATE TABLE evaluation_labels (
         name text NOT NULL, value text NOT NULL, evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE,
         PRIMARY KEY (name, value, evaluation))${clustered}`,
      'CREATE INDEX evaluation_labels_by_evaluation ON evaluation_labels (evaluation)',
      `CREATE TABLE idempotency_keys (
         principal text NOT NULL, key text NOT NULL, fingerprint text NOT NULL, evaluation bigint REFERENCES evaluations ON DELETE CASCADE,
         PRIMARY KEY (principal, key))${clustered}`,
      'CREATE INDEX idempotency_keys_by_evaluation ON idempotency_keys (evaluation)',
      `CREATE TABLE ownerships (
         evaluation bigint PRIMARY KEY REFERENCES evaluations ON DELETE CASCADE, owner text NOT NULL, fence bigint NOT NULL,
         expires_at bigint NOT NULL)`,
      // There is no foreign key, which would cost every episode a look-up: `discarded` removes the episodes of forgotten evaluations.
      `CREATE TABLE episodes (
         evaluation bigint NOT NULL, arm integer NOT NULL, episode bigint NOT NULL, task integer NOT NULL, outcome text NOT NULL,
         result double precision, length bigint, seconds double precision NOT NULL, extra text,
         PRIMARY KEY (evaluation, arm, episode))${clustered}`,
      'CREATE TABLE discarded (evaluation bigint PRIMARY KEY)',
      `CREATE TABLE cache_donors (
         cache_key text NOT NULL, evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE, arm integer NOT NULL,
         PRIMARY KEY (cache_key, evaluation, arm))${clustered}`,
      'CREATE INDEX cache_donors_by_evaluation ON cache_donors (evaluation)',
      `CREATE TABLE events (
         evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE, sequence bigint NOT NULL, type text NOT NULL, data text NOT NULL,
         at bigint NOT NULL, PRIMARY KEY (evaluation, sequence))${clustered}`,
      `CREATE TABLE webhooks (
         id ${identity}, evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE, url text NOT NULL, body text NOT NULL,
         attempts bigint NOT NULL, due_at bigint, failure text)`,
      'CREATE INDEX webhooks_due ON webhooks (due_at, id) WHERE due_at IS NOT NULL',
      'CREATE INDEX webhooks_by_evaluation ON webhooks (evaluation)',
      `CREATE TABLE audit (
         id ${identity}, at bigint NOT NULL, principal text NOT NULL, action text NOT NULL, target text NOT NULL, details text NOT NULL)`,
      'CREATE INDEX audit_by_age ON audit (at, id)',
    ],
  },
  {
    name: 'tokens, and what principals use',
    statements: ({ id, clustered }) => [
      `CREATE TABLE tokens (
         id ${id} PRIMARY KEY, principal text NOT NULL, role text NOT NULL, secret_digest text NOT NULL, created_at bigint NOT NULL,
         expires_at bigint, revoked_at bigint)`,
      'CREATE INDEX tokens_by_age ON tokens (created_at, id)',
      `CREATE INDEX evaluations_waiting ON evaluations (principal) WHERE state = 'waiting'`,
      `CREATE TABLE episode_hours (
         principal text NOT NULL, hour bigint NOT NULL, evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE,
         connection integer NOT NULL, episodes bigint NOT NULL, PRIMARY KEY (principal, hour, evaluation, connection))${clustered}`,
      'CREATE INDEX episode_hours_by_evaluation ON episode_hours (evaluation)',
      `CREATE TABLE charged_checkpoints (
         principal text NOT NULL, digest text NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (principal, digest))${clustered}`,
      'CREATE INDEX charged_checkpoints_by_digest ON charged_checkpoints (digest)',
    ],
  },
  {
    name: 'answers to questions that are asked again',
    statements: ({ clustered }) => [
      `CREATE TABLE answers (
         question text PRIMARY KEY, evaluation bigint NOT NULL REFERENCES evaluations ON DELETE CASCADE)${clustered}`,
      'CREATE INDEX answers_by_evaluation ON answers (evaluation)',
    ],
  },
  {
    name: 'who may use which checkpoint; episodes and answers of before are no longer shared',
    statements: ({ clustered, json }) => [
      `CREATE TABLE brought_checkpoints (
         principal text NOT NULL, digest text NOT NULL, kind text NOT NULL, name text, at bigint NOT NULL,
         PRIMARY KEY (principal, digest))${clustered}`,
      'CREATE INDEX brought_checkpoints_by_digest ON brought_checkpoints (digest, at)',
      `CREATE TABLE checkpoint_grants (
         digest text NOT NULL, principal text NOT NULL, granted_by text NOT NULL, at bigint NOT NULL,
         PRIMARY KEY (digest, principal, granted_by))${clustered}`,
      'CREATE INDEX checkpoint_grants_by_principal ON checkpoint_grants (principal, digest)',
      // Storage is charged for files only.
      `INSERT INTO brought_checkpoints (principal, digest, kind, name, at) SELECT principal, digest, 'file', NULL, 0 FROM charged_checkpoints`,
      ...listEarlierEvaluations(json),
      // Episodes from a sandbox that another principal's code had changed may be among them.
      'DELETE FROM cache_donors',
      'DELETE FROM answers',
    ],
  },
  {
    name: 'episodes of agents',
    statements: ({ identity, id }) => [
      `CREATE TABLE agent_episodes (
         key ${identity}, id ${id} NOT NULL UNIQUE, principal text NOT NULL, task text NOT NULL, task_digest text NOT NULL, agent text NOT NULL,
         seed bigint NOT NULL, terms text NOT NULL, created_at bigint NOT NULL, touched_at bigint NOT NULL, steps bigint NOT NULL, spent text NOT NULL,
         ended_by text, closed_at bigint, outcome text, reward double precision, document text, holder text, fence bigint NOT NULL,
         held_until bigint NOT NULL)`,
      'CREATE INDEX agent_episodes_by_age ON agent_episodes (created_at, id)',
      'CREATE INDEX agent_episodes_by_principal ON agent_episodes (principal, created_at, id)',
      'CREATE INDEX agent_episodes_by_task ON agent_episodes (task, reward)',
      'CREATE INDEX agent_episodes_by_agent ON agent_episodes (agent, created_at, id)',
      'CREATE INDEX agent_episodes_unclosed ON agent_episodes (touched_at, principal) WHERE closed_at IS NULL',
      // A step may be large: its rows are not stored in the order of the key.
      `CREATE TABLE agent_steps (
         episode bigint NOT NULL REFERENCES agent_episodes ON DELETE CASCADE, number bigint NOT NULL, digest text NOT NULL, action text NOT NULL,
         answer text NOT NULL, delta text, at bigint NOT NULL, PRIMARY KEY (episode, number))`,
    ],
  },
  {
    name: 'trees of episodes of agents, and files of their steps',
    statements: ({ id, clustered }) => [
      'ALTER TABLE agent_episodes ADD COLUMN tree text',
      'UPDATE agent_episodes SET tree = id',
      'CREATE INDEX agent_episodes_by_tree ON agent_episodes (tree, closed_at)',
      'CREATE INDEX agent_episodes_closed ON agent_episodes (closed_at) WHERE closed_at IS NOT NULL',
      // A large content is several rows: no database has to move all of it at once.
      `CREATE TABLE agent_contents (
         tree ${id} NOT NULL, digest text NOT NULL, part bigint NOT NULL, data text NOT NULL, PRIMARY KEY (tree, digest, part))${clustered}`,
    ],
  },
  {
    name: 'tasks that agents play, their verifiers and baselines',
    statements: () => [
      'CREATE TABLE played_tasks (digest text PRIMARY KEY, id text NOT NULL, about text NOT NULL, defined_at bigint NOT NULL)',
      `CREATE TABLE task_verifiers (
         task text NOT NULL REFERENCES played_tasks ON DELETE CASCADE, verifier text NOT NULL, defined_at bigint NOT NULL,
         PRIMARY KEY (task, verifier))`,
      `CREATE TABLE task_baselines (
         task text NOT NULL, verifier text NOT NULL, baseline text NOT NULL, PRIMARY KEY (task, verifier),
         FOREIGN KEY (task, verifier) REFERENCES task_verifiers ON DELETE CASCADE)`,
      `CREATE TABLE task_soundness (
         task text NOT NULL, verifier text NOT NULL, report text NOT NULL, at bigint NOT NULL, PRIMARY KEY (task, verifier),
         FOREIGN KEY (task, verifier) REFERENCES task_verifiers ON DELETE CASCADE)`,
    ],
  },
  {
    name: 'streams of rollouts, and versions of policies',
    statements: ({ identity, id, clustered }) => [
      `CREATE TABLE rollout_streams (
         key ${identity}, id ${id} NOT NULL UNIQUE, principal text NOT NULL, policy text NOT NULL, terms text NOT NULL, request text NOT NULL,
         concurrency bigint NOT NULL, state text NOT NULL, problem text, created_at bigint NOT NULL, ended_at bigint, told_before bigint NOT NULL,
         begun bigint NOT NULL, ready bigint NOT NULL, acknowledged bigint NOT NULL, filtered bigint NOT NULL, stale bigint NOT NULL,
         trajectories bigint NOT NULL, finished bigint NOT NULL, holder text, fence bigint NOT NULL, held_until bigint NOT NULL)`,
      'CREATE INDEX rollout_streams_by_principal ON rollout_streams (principal, created_at, id)',
      `CREATE INDEX rollout_streams_running ON rollout_streams (created_at, id) WHERE state = 'running'`,
      'CREATE INDEX rollout_streams_ended ON rollout_streams (ended_at) WHERE ended_at IS NOT NULL',
      `CREATE TABLE rollout_groups (
         stream bigint NOT NULL REFERENCES rollout_streams ON DELETE CASCADE, number bigint NOT NULL, state text NOT NULL, begun bigint NOT NULL,
         wanted bigint NOT NULL, cursor bigint, oldest bigint, head text, lease bigint NOT NULL, leased_until bigint NOT NULL,
         PRIMARY KEY (stream, number))`,
      `CREATE INDEX rollout_groups_running ON rollout_groups (stream, number) WHERE state = 'running'`,
      `CREATE INDEX rollout_groups_ready ON rollout_groups (stream, cursor) WHERE state = 'ready'`,
      // A trajectory may be large: its rows are not stored in the order of the key.
      `CREATE TABLE rollout_members (
         stream bigint NOT NULL REFERENCES rollout_streams ON DELETE CASCADE, number bigint NOT NULL, rep bigint NOT NULL, result text NOT NULL,
         document text, PRIMARY KEY (stream, number, rep))`,
      `CREATE TABLE policy_versions (
         principal text NOT NULL, policy text NOT NULL, ordinal bigint NOT NULL, version bigint NOT NULL, endpoint text, at bigint NOT NULL,
         PRIMARY KEY (principal, policy, ordinal))${clustered}`,
    ],
  },
  {
    // The document of a request has room for them. An older Muster could not read a request with names: it refuses the database.
    name: 'names of checkpoints',
    statements: () => [],
  },
  {
    name: 'transcripts of episodes of evaluations',
    statements: () => [
      // A transcript may be large: its rows are not stored in the order of the key. It is removed like an episode of a forgotten evaluation.
      `CREATE TABLE transcripts (
         evaluation bigint NOT NULL, arm integer NOT NULL, episode bigint NOT NULL, document text NOT NULL, PRIMARY KEY (evaluation, arm, episode))`,
    ],
  },
  {
    name: 'turns of episodes that are under way',
    statements: ({ id }) => [
      // An answer may be large: its rows are not stored in the order of the key.
      `CREATE TABLE agent_turns (
         episode ${id} NOT NULL, request ${id} NOT NULL, answer text NOT NULL, at bigint NOT NULL, PRIMARY KEY (episode, request))`,
      'CREATE INDEX agent_turns_by_age ON agent_turns (at)',
    ],
  },
  {
    name: 'when a trainer has last asked for groups of a stream',
    statements: () => ['ALTER TABLE rollout_streams ADD COLUMN asked_at bigint', 'UPDATE rollout_streams SET asked_at = created_at'],
  },
  {
    // Each step touches its episode: an index with that moment would be written with every step.
    name: 'open episodes of agents by their principal alone',
    statements: () => [
      'DROP INDEX agent_episodes_unclosed',
      'CREATE INDEX agent_episodes_unclosed ON agent_episodes (principal) WHERE closed_at IS NULL',
    ],
  },
];

/**
 * Lists statements that give a principal the right to the checkpoints of its earlier evaluations, if it named them by URI or had sent all of their
 * files. Knowing the digest of another principal's checkpoint gives no right to it.
 */
function listEarlierEvaluations(json: JsonReading): readonly string[] {
  const contents = [
    `SELECT v.principal, ${json.document('v.request', 'checkpoint')} AS content FROM evaluations v`,
    `SELECT v.principal, ${json.document('v.request', 'baseline')} AS content FROM evaluations v`,
    `SELECT v.principal, c.value AS content FROM evaluations v, ${json.elements(json.document('v.request', 'candidates'), 'c')}`,
  ];
  const digest = json.text('e.content', 'digest');
  const kind = json.text('e.content', 'kind');
  const uri = json.text('e.content', 'uri');
  return contents.map(
    (content) => `INSERT INTO brought_checkpoints (principal, digest, kind, name, at)
      SELECT DISTINCT e.principal, ${digest}, ${kind}, NULL, 0 FROM (${content}) AS e
      WHERE ${digest} IS NOT NULL AND ${kind} IS NOT NULL AND ${json.document('e.content', 'files')} IS NOT NULL AND (
        replace(${uri}, 'sha256:', '') <> replace(${digest}, 'sha256:', '')
        OR NOT EXISTS (
          SELECT 1 FROM ${json.elements(json.document('e.content', 'files'), 'f')} WHERE NOT EXISTS (
            SELECT 1 FROM charged_checkpoints k WHERE k.principal = e.principal AND k.digest = ${json.text('f.value', 'digest')})))
      ON CONFLICT DO NOTHING`,
  );
}
