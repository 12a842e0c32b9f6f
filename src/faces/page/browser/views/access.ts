import { html, type TemplateResult } from 'lit-html';
import type { Access, PageState } from '../model/state.ts';
import { renderAge } from '../model/wording.ts';

/** For operators: the tokens, and the audit of who changed what. */
export function renderAccess({ access, session, now }: PageState): TemplateResult {
  if (session?.role !== 'operator')
    return html`<div class="card empty">
      <h1>Access</h1>
      <p>Tokens and the audit are for operators. ${session?.principal ?? 'This token'} has another role.</p>
    </div>`;
  if (!access) return html`<p class="muted">Reading …</p>`;
  return html`<section aria-labelledby="access">
    <div class="head"><h1 id="access">Access</h1></div>
    <h2>Tokens</h2>
    ${renderTable(
      'Tokens',
      ['Principal', 'Role', 'Token', 'Made', 'Good until'],
      access.tokens.map((token) => renderTokenRow(token, now)),
    )}
    <h2>Audit</h2>
    ${renderTable(
      'Audit',
      ['Principal', 'When', 'Action', 'Target'],
      access.audit.map((entry) => renderAuditRow(entry, now)),
    )}
  </section>`;
}

function renderTable(name: string, columns: readonly string[], rows: readonly TemplateResult[]): TemplateResult {
  return html`<div class="card scroll" tabindex="0" role="region" aria-label=${name}>
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th>${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

function renderTokenRow({ id, principal, role, createdAt, expiresAt, revokedAt }: Access['tokens'][number], now: number): TemplateResult {
  return html`<tr>
    <th scope="row" class="name"><bdi>${principal}</bdi></th>
    <td>${role}</td>
    <td><code>${id}</code></td>
    <td>${renderAge(createdAt, now)}</td>
    <td>${revokedAt ? 'revoked' : (expiresAt ?? 'it is revoked')}</td>
  </tr>`;
}

function renderAuditRow({ at, principal, action, target }: Access['audit'][number], now: number): TemplateResult {
  return html`<tr>
    <th scope="row" class="name"><bdi>${principal}</bdi></th>
    <td>${renderAge(at, now)}</td>
    <td>${action}</td>
    <td class="name"><bdi>${target}</bdi></td>
  </tr>`;
}
