import { markup } from './markup.ts';
import { DARK, LIGHT, type Palette } from './palette.ts';

/** Formats custom properties named like the palette's colours. */
function formatProperties(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, colour]) => `--${name}:${colour}`)
    .join(';');
}

const LAYOUT = markup`
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header,main,footer{max-width:66rem;margin:0 auto;padding:0 1rem}
header{padding-top:2rem;padding-bottom:1rem}
main>section:not(.card):first-child{padding-top:0}
main,main>section:not(.card){display:grid;gap:1rem;grid-template-columns:minmax(0,1fr)}
main>section:not(.card){padding-top:1rem}
footer{padding-top:1rem;padding-bottom:2rem;color:var(--muted);font-size:.85rem}
h1,h2,h3,p,ul,dl,dd,figure{margin:0}
h1{font-size:2rem;line-height:1.2;letter-spacing:-.01em}
h2{font-size:1.35rem;line-height:1.3}
h3{font-size:1.05rem;line-height:1.4}
main>section:not(.card)>.line{margin-top:-.75rem}
.label{color:var(--muted);font-size:.8rem;font-weight:600;letter-spacing:.06em;text-transform:uppercase}
.line,.note,.promise,figcaption p,.card>p{color:var(--muted);font-size:.9rem}
a{color:var(--estimate)}
code,.path{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.85em}
bdi,code,.path{overflow-wrap:anywhere}
b{font-weight:600}
data,.ends{font-variant-numeric:tabular-nums;white-space:nowrap}
.card{background:var(--surface);border:1px solid var(--line);border-radius:12px;padding:1.1rem 1.25rem;min-width:0}
.card>h2+*,.card>h3+*,.card>table,.card>.scroll{margin-top:.6rem}
.card>p+p,.card>table+p,.card>.scroll+p{margin-top:.5rem}
.none{color:var(--muted)}
.strip-of-pictures{display:grid;gap:.5rem;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));list-style:none;margin:.6rem 0 0;padding:0}
.strip-of-pictures img{display:block;width:100%;image-rendering:pixelated;border:1px solid var(--line);border-radius:6px}
.strip-of-pictures span{color:var(--muted);font-size:.8rem;font-variant-numeric:tabular-nums}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
`;

const ANSWERS = markup`
.answer{display:grid;gap:1rem 2.5rem;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr))}
.headline{font-size:3.25rem;line-height:1.1;font-weight:650;letter-spacing:-.02em}
.interval{font-size:1.15rem}
.answer .interval{margin:.35rem 0}
.answer dl{display:grid;gap:.5rem;align-content:center}
.answer dl>div{display:grid;grid-template-columns:8rem 1fr;gap:.75rem;border-top:1px solid var(--grid);padding-top:.5rem}
.answer dl>div:first-child{border-top:0;padding-top:0}
dt{color:var(--muted)}
.state,.verdict{display:inline-flex;align-items:center;gap:.4rem;font-weight:600;border-radius:999px;padding:.05rem .7rem}
.good,.promote.verdict{color:var(--good);background:var(--goodArea)}
.caution,.inconclusive.verdict{color:var(--caution);background:var(--cautionArea)}
.regress.verdict{color:var(--bad);background:var(--badArea)}
.equivalent.verdict{color:var(--text);background:var(--grid)}
.verdict{text-transform:capitalize;font-size:1.1rem;padding:.2rem .9rem .2rem .7rem}
h2 .verdict,td .verdict{font-size:.9rem;vertical-align:middle;padding:.05rem .7rem}
h2 .verdict svg,td .verdict svg{width:16px;height:16px}
.verdict svg{fill:none;stroke:currentColor;stroke-width:2.75;stroke-linecap:round;stroke-linejoin:round}
.decisions{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr))}
.decision{display:grid;gap:.6rem;align-content:start;border-left-width:5px}
.decision>p{color:inherit;font-size:1rem;margin:0}
.decision>.interval{font-size:1.1rem}
.decision>.note{color:var(--muted);font-size:.85rem}
.decision.promote{border-left-color:var(--good)}
.decision.regress{border-left-color:var(--bad)}
.decision.inconclusive{border-left-color:var(--caution)}
.decision.equivalent{border-left-color:var(--muted)}
.warnings{background:var(--cautionArea);border-color:var(--caution)}
.warnings h3{color:var(--caution)}
.warnings ul{padding-left:1.2rem}
`;

const CHARTS = markup`
figure.card{container-type:inline-size}
.plot{display:block;overflow:visible;--left:calc(var(--labels)*.62em + 12px);font-size:12px;width:calc(100% - var(--left) - 26px);margin:34px 26px 46px var(--left)}
svg text{fill:var(--muted);font-family:inherit;font-variant-numeric:tabular-nums}
.axis{font-size:12px}
.grid{stroke:var(--grid)}
.tick{stroke:var(--muted);stroke-opacity:.6}
.plot path,.plot rect{vector-effect:non-scaling-stroke}
.plot path{fill:none}
.plot .area{fill:var(--area)}
.plot .edge{stroke:var(--estimate);stroke-opacity:.55}
.plot .estimate{stroke:var(--estimate);stroke-width:2;stroke-linejoin:round}
.plot .target-area{fill:var(--targetArea)}
.plot .target{stroke:var(--target);stroke-width:1.5;stroke-dasharray:6 4}
.plot .level,.strip-row .level{stroke:var(--muted);stroke-width:1.25}
.plot .promote{stroke:var(--good);stroke-width:2.25;stroke-linejoin:round}
.plot .regress{stroke:var(--bad);stroke-width:2.25;stroke-linejoin:round;stroke-dasharray:2 4;stroke-linecap:round}
.plot .bar{fill:var(--estimate);fill-opacity:.5;stroke:var(--surface);stroke-width:1}
.plot .bar:hover{fill-opacity:.8}
.plot .quartiles{fill:var(--area);stroke:var(--muted);stroke-width:1.25}
.plot .dot{stroke:var(--text);stroke-width:8;stroke-linecap:round}
.plot .strip{fill:transparent}
.plot .strip:hover{fill:var(--muted);fill-opacity:.25}
.end{fill:var(--estimate);stroke:var(--surface);stroke-width:1.5}
.plot .end.promote{fill:var(--good);stroke:var(--surface);stroke-width:1.5}
.plot .end.regress{fill:var(--bad);stroke:var(--surface);stroke-width:1.5;stroke-dasharray:none}
@container (max-width:34rem){.plot .wide{display:none}}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0;color:var(--muted);font-size:.85rem}
.legend li{display:flex;align-items:center;gap:.5rem}
.swatch{flex:none;width:22px;height:0;border-top:3px solid}
.swatch.area,.swatch.bar,.swatch.quartiles{height:12px;border:0;border-radius:3px}
.swatch.area{background:var(--area);outline:1px solid var(--estimate);outline-offset:-1px}
.swatch.bar{background:var(--estimate);opacity:.55}
.swatch.quartiles{background:var(--area);outline:1.25px solid var(--muted);outline-offset:-1px}
.swatch.estimate{border-color:var(--estimate)}
.swatch.target{border-top:2px dashed var(--target)}
.swatch.level{border-top:1.5px solid var(--muted)}
.swatch.promote{border-color:var(--good)}
.swatch.regress{border-top:3px dotted var(--bad)}
.swatch.dot{width:9px;height:9px;border:0;border-radius:50%;background:var(--text)}
.pair,.alone{display:grid;gap:1rem;grid-template-columns:minmax(0,1fr)}
.pair{grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr))}
details{margin-top:.75rem;font-size:.85rem}
summary{color:var(--muted);cursor:pointer}
.absent{padding:1rem 0;color:var(--muted)}
`;

const GRADINGS = markup`
.outputs{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));margin-top:.4rem}
.outputs figure{min-width:0}
.outputs figcaption{color:var(--muted);font-size:.8rem}
.card>pre,.outputs pre{overflow:auto;max-height:18rem;border:1px solid var(--line);border-radius:8px;padding:.5rem .75rem;margin:.4rem 0 0;font-size:.8rem}
.outputs pre,.card>pre{white-space:pre-wrap;overflow-wrap:anywhere}
del{color:var(--bad);background:var(--badArea);text-decoration:none}
ins{color:var(--good);background:var(--goodArea);text-decoration:none}
.errors li+li{margin-top:.75rem}
.stages td:last-child{width:60%}
.scroll td.words{min-width:7rem}
`;

const TABLES = markup`
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.35rem .75rem .35rem 0;text-align:right;vertical-align:baseline;border-bottom:1px solid var(--grid)}
th:last-child,td:last-child{padding-right:0}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--muted);font-weight:600;font-size:.8rem;white-space:nowrap;border-bottom-color:var(--line)}
th:first-child,td:first-child{text-align:left}
tbody th{font-weight:500;text-align:left}
.scroll tbody th{min-width:9.5rem}
details .scroll tbody th{min-width:0}
.words,td.note{text-align:left}
thead th.words{text-align:left}
.ranking .state{font-size:.8rem;padding:0 .5rem}
.ranking th code{display:block;color:var(--muted);white-space:nowrap}
.scroll,.errors pre{overflow:auto;background:linear-gradient(90deg,var(--surface) 40%,transparent) left/2.5rem 100% no-repeat local,linear-gradient(270deg,var(--surface) 40%,transparent) right/2.5rem 100% no-repeat local,linear-gradient(90deg,var(--line),transparent) left/.9rem 100% no-repeat,linear-gradient(270deg,var(--line),transparent) right/.9rem 100% no-repeat}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--estimate);outline-offset:2px}
details .scroll,.scroll.tall{max-height:32rem;border:1px solid var(--line);border-radius:8px;padding:0 .75rem}
details .scroll{max-height:18rem;margin-top:.5rem}
.scroll thead th{position:sticky;top:0;background:var(--surface);z-index:1}
.picture{min-width:11rem;width:38%;padding-left:.5rem}
.strip-row{display:block;width:100%;height:18px;overflow:visible}
.strip-head{display:block;width:100%;overflow:visible;font-size:11px;font-weight:400}
.scroll td{vertical-align:middle}
.whisker{stroke:var(--estimate);stroke-width:2.5;stroke-linecap:round}
.failures code{display:block;color:var(--muted)}
.failures .picture{min-width:6rem;width:30%}
.errors{list-style:none;padding:0}
.errors pre{max-height:18rem;border:1px solid var(--line);border-radius:8px;padding:.5rem .75rem;font-size:.8rem}
.failed{fill:var(--bad);fill-opacity:.6}
.figures th[scope=rowgroup]{padding-top:1rem;color:var(--muted);font-size:.8rem;font-weight:600;border-bottom-color:var(--line)}
.figures tbody:first-of-type th[scope=rowgroup]{padding-top:.25rem}
.figures tbody th[scope=row]{width:15rem}
.figures td{text-align:left}
.figures td.note{width:50%}
@media (max-width:40rem){
.stages tr{display:grid;grid-template-columns:minmax(0,1fr) auto;border-bottom:1px solid var(--grid)}
.stages tr>*{border:0}
.stages td:last-child{grid-column:1/-1;width:auto}
.stages td:last-child:has(bdi:empty){display:none}
h1{font-size:1.6rem}
.headline{font-size:2.6rem}
.answer dl>div{grid-template-columns:6.5rem 1fr}
.card{padding:1rem}
.failures .picture{display:none}
.scroll.wide::before,.scroll.tall::before{content:"↔ scroll sideways for all columns";position:sticky;left:0;display:inline-block;color:var(--muted);font-size:.8rem;padding:.25rem 0}
.figures,.figures tbody,.figures tr,.figures th,.figures td{display:block;width:auto!important;text-align:left;padding-right:0}
.figures tr{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.2fr);gap:0 .75rem;padding:.35rem 0;border-bottom:1px solid var(--grid)}
.figures tbody tr>*{border:0;padding-top:0;padding-bottom:0}
.figures tbody tr>th[scope=rowgroup],.figures td.note{grid-column:1/-1}
.figures td.note:empty{display:none}
}
@media print{
html{color-scheme:light}
body{background:none;font-size:11pt}
.swatch,.state,.verdict,.warnings{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.card{break-inside:avoid;border-color:#bbb}
.scroll,.scroll.tall{max-height:none;overflow:visible;border:0;padding:0;background:none}
.scroll thead th{position:static}
details,footer{display:none}
}
`;

export const STYLE = markup`<style>
:root{${formatProperties(LIGHT)}}
@media screen and (prefers-color-scheme:dark){:root{${formatProperties(DARK)}}}
${LAYOUT}${ANSWERS}${CHARTS}${GRADINGS}${TABLES}</style>`;
