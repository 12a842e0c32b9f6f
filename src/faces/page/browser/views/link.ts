import { html, type TemplateResult } from 'lit-html';
import type { Actions } from '../model/actions.ts';
import { formatRoute, type Route } from '../model/route.ts';

/** Renders a link within the page: opens without reloading, and in a new tab like any link. */
export function renderLink(actions: Actions, route: Route, content: unknown, isCurrent = false): TemplateResult {
  const onClick = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    actions.go(route);
  };
  return html`<a href=${formatRoute(route)} aria-current=${isCurrent ? 'page' : 'false'} @click=${onClick}>${content}</a>`;
}
