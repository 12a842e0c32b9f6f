import { html, type TemplateResult } from 'lit-html';
import { formatBytes, formatCount } from '../../../../kernel/text/figures.ts';
import { describeTokenState } from '../../../token-state.ts';
import type { Access, PageState } from '../model/state.ts';
import { describeAuditDetails } from '../model/audit-details.ts';
import { renderAge } from '../model/wording.ts';
import { renderTable } from './figures.ts';

/** Renders for operators who uses how much, the tokens, and the audit of who changed what. */
export function renderAccess({ access, session, now }: PageState): TemplateResult {
  if (session?.role !== 'operator')
    return html`<div class="card empty">
      <h1>Access</h1>
      <p>Quotas, tokens and the audit are for operators. ${session?.principal ?? 'This token'} has another role.</p>
    </div>`;
  if (!access) return html`<p class="muted">Reading …</p>`;
  return html`<section aria-labelledby="access">
    <div class="head"><h1 id="access">Access</h1></div>
    <h2>Quotas</h2>
    ${renderTable('Quotas', ['Principal', ...QUOTAS.map(({ title }) => title)], access.quotas.map(renderQuotaRow))}
    <h2>Tokens</h2>
    ${renderTable(
      'Tokens',
      ['Principal', 'Role', 'Token', 'Made', 'State'],
      access.tokens.map((token) => renderTokenRow(token, now)),
    )}
    <h2>Audit</h2>
    ${renderTable(
      'Audit',
      ['Principal', 'When', 'Action', 'Target', 'Details'],
      access.audit.map((entry) => renderAuditRow(entry, now)),
    )}
  </section>`;
}

const QUOTAS = [
  { title: 'Episodes played now', key: 'concurrentEpisodes', format: formatCount },
  { title: 'Evaluations that wait', key: 'waitingEvaluations', format: formatCount },
  { title: 'Episodes today', key: 'episodesPerDay', format: formatCount },
  { title: 'Checkpoints', key: 'checkpointBytes', format: formatBytes },
  { title: 'Open episodes of agents', key: 'openEpisodes', format: formatCount },
] as const;

/** A share beyond which a quota is pointed out. */
const NEARLY_USED = 0.8;

function renderQuotaRow(quotas: Access['quotas'][number]): TemplateResult {
  return html`<tr>
    <th scope="row" class="name"><bdi>${quotas.principal}</bdi></th>
    ${QUOTAS.map(({ key, title, format }) => {
      const { used, most } = quotas[key];
      if (most === null) return html`<td>${format(used)}</td>`;
      const isNearlyUsed = used >= NEARLY_USED * most;
      return html`<td>
        <progress max=${Math.max(1, most)} .value=${used} aria-label="${title} of ${quotas.principal}"></progress>
        <span class=${isNearlyUsed ? 'state waiting' : ''}>${format(used)} of ${format(most)}</span>
      </td>`;
    })}
  </tr>`;
}

function renderTokenRow({ id, principal, role, createdAt, expiresAt, revokedAt }: Access['tokens'][number], now: number): TemplateResult {
  return html`<tr>
    <th scope="row" class="name"><bdi>${principal}</bdi></th>
    <td>${role}</td>
    <td><code>${id}</code></td>
    <td>${renderAge(createdAt, now)}</td>
    <td>${describeTokenState({ expiresAt, revokedAt }, now)}</td>
  </tr>`;
}

function renderAuditRow({ at, principal, action, target, details }: Access['audit'][number], now: number): TemplateResult {
  return html`<tr>
    <th scope="row" class="name"><bdi>${principal}</bdi></th>
    <td>${renderAge(at, now)}</td>
    <td>${action}</td>
    <td class="name"><bdi>${target}</bdi></td>
    <td><bdi>${describeAuditDetails(details)}</bdi></td>
  </tr>`;
}
