import { DARK, LIGHT, type Palette } from '../report/text/palette.ts';

/** Formats custom properties named like the palette's colours. The band of a curve is transparent, so that the grid shows through. */
function formatProperties(palette: Palette): string {
  const colours = Object.entries(palette).map(([name, colour]) => `--${name}:${colour}`);
  const bands = ['estimate', 'bad', 'good', 'target', 'muted'].map(
    (name) => `--${name}-band:color-mix(in srgb, var(--${name}) 18%, transparent)`,
  );
  return [...colours, ...bands].join(';');
}

const LAYOUT = `
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header,main,footer{max-width:100rem;margin:0 auto;padding:0 1.25rem}
header{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:center;justify-content:space-between;padding-top:.75rem;padding-bottom:.75rem;border-bottom:1px solid var(--line)}
nav{display:flex;flex-wrap:wrap;gap:.25rem .5rem;align-items:center}
nav a{padding:.3rem .7rem;border-radius:8px;text-decoration:none;color:var(--muted);font-weight:600}
nav a[aria-current=page]{color:var(--text);background:var(--grid)}
.brand{font-size:1.15rem;letter-spacing:-.01em;margin-right:.75rem}
.session{display:flex;flex-wrap:wrap;gap:.75rem;align-items:center;color:var(--muted);font-size:.9rem}
footer{padding-top:1.5rem;padding-bottom:2rem;color:var(--muted);font-size:.85rem}
h1,h2,p,ul,dl,dd,figure{margin:0}
h1,h2,figcaption{overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;letter-spacing:-.01em}
h2{font-size:1.1rem}
main{padding-top:1.25rem}
section{display:grid;gap:1rem;grid-template-columns:minmax(0,1fr)}
.head{display:flex;flex-wrap:wrap;gap:.4rem 1rem;align-items:baseline}
.head .state{align-self:center}
.muted{color:var(--muted)}
a{color:var(--estimate)}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.86em}
pre{overflow:auto;max-height:16rem;margin:.5rem 0 0;white-space:pre-wrap;overflow-wrap:anywhere}
bdi{overflow-wrap:anywhere}
button,.button,input,select{font:inherit;color:var(--text);background:var(--surface);border:1px solid var(--line);border-radius:8px;padding:.25rem .7rem}
button,.button{cursor:pointer;text-decoration:none;font-weight:600;font-size:.9rem}
button:hover,.button:hover{background:var(--grid)}
:focus-visible{outline:2px solid var(--estimate);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--surface);padding:.5rem}
.card{background:var(--surface);border:1px solid var(--line);border-radius:12px;padding:1rem 1.15rem;min-width:0}
.empty{display:grid;gap:.6rem;max-width:44rem}
.empty pre{background:var(--page);border-radius:8px;padding:.7rem .9rem;margin:0}
.warning{background:var(--cautionArea);color:var(--caution);border:1px solid var(--caution);border-radius:10px;padding:.5rem .85rem;overflow-wrap:anywhere;white-space:pre-wrap}
.filters,.controls{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center}
.filters label,.controls label{display:flex;gap:.5rem;align-items:center;color:var(--muted);font-size:.9rem}
.filters select{max-width:16rem}
.controls input{width:6rem}
.sign-in{display:grid;min-height:90vh;place-content:center;grid-template-columns:min(26rem,100%)}
.sign-in form{display:grid;gap:.9rem}
.sign-in label{display:grid;gap:.3rem;color:var(--muted);font-size:.9rem}
`;

const TABLES = `
.scroll{overflow:auto;padding-top:.25rem;padding-bottom:.25rem}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.42rem .9rem .42rem 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--grid);white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--muted);font-weight:600;font-size:.8rem;position:sticky;top:0;background:var(--surface)}
tbody th{font-weight:600}
.number{text-align:right}
th.number:first-child{width:1%}
td.name,th.name{white-space:normal;min-width:9rem;max-width:22rem}
td.name a{color:inherit;text-decoration-color:var(--line)}
.evaluations th.name{min-width:min(21rem,30vw)}
.picture{min-width:9rem;width:22%}
.tall{max-height:34rem}
td.picture{vertical-align:middle}
td progress{width:4rem}
tr.failed td{color:var(--bad)}
tr.lost td{color:var(--caution)}
.said{white-space:normal;min-width:5rem}
summary{cursor:pointer;color:var(--muted)}
.state{display:inline-block;font-size:.82rem;font-weight:600;border-radius:999px;padding:0 .6rem;background:var(--grid);color:var(--muted)}
.state.running,.state.starting,.state.open{background:var(--area);color:var(--text)}
.state.finished{background:var(--goodArea);color:var(--good)}
.state.failed{background:var(--badArea);color:var(--bad)}
.state.promote,.state.equivalent{background:var(--goodArea);color:var(--good)}
.state.regress{background:var(--badArea);color:var(--bad)}
.state.lost,.state.inconclusive{background:var(--cautionArea);color:var(--caution)}
.candidates th.name{min-width:10rem}
.candidates a[aria-current=page]{text-decoration-thickness:3px;text-decoration-color:var(--estimate)}
.state.waiting{background:var(--cautionArea);color:var(--caution)}
`;

const FIGURES = `
.bar{display:block;width:100%;height:18px;overflow:visible}
.bar .target{fill:var(--targetArea);stroke:var(--target);stroke-width:.6}
.bar .interval{fill:var(--estimate);fill-opacity:.45}
.bar .mean{fill:var(--estimate)}
.lane{display:block;width:100%;min-width:12rem;height:18px}
.lane .held{fill:var(--grid)}
.lane .failing{fill:var(--bad)}
.lane .busy-1{fill:var(--estimate);fill-opacity:.25}
.lane .busy-2{fill:var(--estimate);fill-opacity:.45}
.lane .busy-3{fill:var(--estimate);fill-opacity:.7}
.lane .busy-4{fill:var(--estimate)}
.lanes .picture{width:55%}
.answer{display:grid;gap:.6rem}
.headline{font-size:2.6rem;line-height:1.1;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.figures{display:flex;flex-wrap:wrap;gap:.5rem 2.25rem;font-variant-numeric:tabular-nums}
.figures dt{color:var(--muted);font-size:.85rem}
.figures dd{font-weight:600;overflow-wrap:anywhere}
progress{accent-color:var(--estimate);width:10rem;height:.8rem;vertical-align:middle;margin-right:.5rem}
figcaption{font-weight:600;margin-bottom:.5rem}
.film figcaption{font-weight:400;margin:0}
.histogram{display:block;width:100%;height:150px;border-bottom:1px solid var(--muted)}
.histogram .count{fill:var(--estimate);fill-opacity:.5;stroke:var(--surface);vector-effect:non-scaling-stroke}
.histogram .count:hover{fill-opacity:.8}
.histogram .mean{stroke:var(--estimate);stroke-width:2;vector-effect:non-scaling-stroke}
.ends{display:flex;justify-content:space-between;font-size:.85rem;font-variant-numeric:tabular-nums;margin:.2rem 0 .7rem}
progress.failed{accent-color:var(--bad);width:100%}
.canvas{min-height:330px;min-width:0;overflow:hidden}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.u-legend .edge{display:none}
.u-legend th,.u-legend td{border:0;overflow-wrap:anywhere;white-space:normal;padding:.1rem .6rem .1rem 0;font-weight:500}
.u-legend .u-marker{vertical-align:baseline}
.canvas:not(:hover) .u-legend :is(.u-value,.own,.u-series:first-child){display:none}
.u-inline.u-live th::after{display:none}
.list{white-space:pre-wrap;min-width:9rem;max-width:24rem}
.u-legend{font-size:.85rem;color:var(--muted)}
.connection::before{content:"";display:inline-block;width:.6rem;height:.6rem;border-radius:50%;background:var(--caution);margin-right:.4rem}
.connection.live::before{background:var(--good)}
.connection.lost::before{background:var(--bad)}
.facts{display:grid;gap:.3rem}
.facts>div{display:grid;grid-template-columns:minmax(7rem,10rem) 1fr;gap:.75rem}
.facts dt{color:var(--muted)}
.facts dd{overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.replayed{display:grid;gap:1rem 1.5rem;align-items:start;margin-top:.75rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}
.film{display:grid;gap:.6rem;max-width:30rem}
.film img{display:block;width:100%;image-rendering:pixelated;border:1px solid var(--line);border-radius:8px}
.film label{flex:1;font-variant-numeric:tabular-nums;white-space:nowrap}
.film input{flex:1;min-width:5rem;padding:0;accent-color:var(--estimate)}
.beside{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}
.stages .detail{margin-top:.15rem;font-size:.85rem;max-width:40rem;overflow-wrap:anywhere;white-space:pre-wrap}
.stages{display:flex;flex-wrap:wrap;gap:.4rem 1.1rem;list-style:none;padding:0;margin:0}
.steps{display:grid;gap:.75rem;list-style:none;padding:0;margin:0;grid-template-columns:minmax(0,1fr)}
.step{display:grid;gap:.3rem;grid-template-columns:minmax(0,1fr)}
.step h3{margin:0;font-size:1rem;font-variant-numeric:tabular-nums}
.step pre{margin:0;background:var(--page);border-radius:8px;padding:.5rem .7rem;max-height:14rem}
.step pre.answered{border-left:3px solid var(--line);border-radius:0 8px 8px 0}
.field{font-size:.82rem;overflow-wrap:anywhere}
.field code{font-size:1em}
.card>.head{margin-bottom:.4rem}
.step>.head,.pool>.head{margin-bottom:0}
.patch .added{color:var(--good)}
.patch .removed{color:var(--bad)}
.patch .place,.patch .file{color:var(--muted)}
.pool{display:grid;gap:.75rem}
.cells{display:flex;flex-wrap:wrap;gap:3px}
.cells i,.legend i{display:inline-block;width:13px;height:13px;border-radius:3px;border:1px solid var(--line)}
i.leased{background:var(--estimate);border-color:var(--estimate)}
i.idle{background:var(--area);border-color:var(--estimate)}
i.warming{background:var(--targetArea);border-color:var(--target)}
i.creating{background:repeating-linear-gradient(45deg,var(--targetArea) 0 3px,var(--surface) 3px 6px);border-color:var(--target)}
i.destroying{background:repeating-linear-gradient(45deg,var(--grid) 0 3px,var(--muted) 3px 5px);border-color:var(--muted)}
i.lost{background:linear-gradient(45deg,transparent 43%,var(--bad) 43% 57%,transparent 57%),linear-gradient(-45deg,var(--surface) 43%,var(--bad) 43% 57%,var(--surface) 57%);border-color:var(--bad)}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0;color:var(--muted);font-size:.85rem}
.legend li{display:flex;align-items:center;gap:.4rem}
@media (max-width:48rem){
.evaluations thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.evaluations,.evaluations tbody{display:block}
.evaluations tr{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.3fr) minmax(0,1fr);gap:.15rem .75rem;padding:.6rem 0;border-bottom:1px solid var(--grid)}
.evaluations tr:last-child{border-bottom:0}
.evaluations tbody tr>*{border:0;padding:0;width:auto;min-width:0;max-width:none}
.evaluations th.name,.evaluations .picture{grid-column:1/-1}
.evaluations td{white-space:normal}
.evaluations .episodes::after{content:" episodes"}
.evaluations td.name:nth-child(2){grid-column:2/-1}
.evaluations th.name{order:-1}
.evaluations .number{text-align:left}
}
@media (max-width:40rem){
header,main,footer{padding-left:.75rem;padding-right:.75rem}
.headline{font-size:2rem}
.card{padding:.8rem}
nav a{padding:.3rem .45rem}
.facts>div{grid-template-columns:7rem 1fr}
}
@media print{
header,.filters,.controls,.pages,button,.button,.skip{display:none}
html{font-size:11px}
body{font-size:11px}
figure,.answer,.step,.pool,tr{break-inside:avoid}
.head{break-after:avoid}
.scroll,.tall,pre,.step pre{overflow:visible;max-height:none}
th,td{padding-right:.6rem}
.evaluations th.name,td.name,th.name,.picture{min-width:6rem}
.canvas{min-height:0}
.canvas .uplot,.canvas .u-wrap{width:100%!important;height:auto!important}
.canvas canvas{position:static;width:100%!important;height:auto!important}
.canvas :is(.u-over,.u-under){display:none}
html{color-scheme:light}
.state,.cells i{print-color-adjust:exact}
}
`;

export const STYLE = `:root{${formatProperties(LIGHT)}}
@media screen and (prefers-color-scheme:dark){:root{${formatProperties(DARK)}}}
${LAYOUT}${TABLES}${FIGURES}`;
