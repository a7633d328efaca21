// The style of the widget: an adopted sheet, which a strict content security policy allows. `!important`
// on the host wins over all styles of the page; `--skein-*` of the page are the themes.
export const STYLE = `
:host { all: initial !important; position: fixed !important; z-index: 2147483000 !important;
  inset-block-end: var(--skein-offset, 20px) !important; inset-inline-end: var(--skein-offset, 20px) !important; }
:host([hidden]) { display: none !important; }
.root { color-scheme: light dark; --own: var(--skein-color, var(--widget-color, #0b57d0));
  --on: var(--skein-on-color, var(--widget-on-color, #fff)); --back: var(--skein-background, light-dark(#fff, #1c1d21));
  --ink: var(--skein-text, light-dark(#1b1c1f, #ececf0)); --faint: light-dark(#5a5d66, #b3b6c0);
  --line: light-dark(#c9ccd4, #45474f); --bubble: light-dark(#eef0f4, #2b2d34); --round: var(--skein-radius, 14px);
  font: 16px/1.45 var(--skein-font, system-ui, sans-serif); color: var(--ink); text-align: start; }
.root[data-scheme=light] { color-scheme: light; } .root[data-scheme=dark] { color-scheme: dark; }
.root[data-side=start] { position: fixed; inset-block-end: var(--skein-offset, 20px);
  inset-inline-start: var(--skein-offset, 20px); }
* { box-sizing: border-box; } p, ol, ul, pre { margin: 0; } [hidden] { display: none !important; }
button, textarea, input { font: inherit; color: inherit; } button { cursor: pointer; }
button { background: none; border: 1px solid var(--line); border-radius: 10px; padding: 8px 12px; min-block-size: 40px; }
button.own { background: var(--own); border-color: var(--own); color: var(--on); }
button.bare { border-color: transparent; }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
a { color: inherit; text-decoration: underline; overflow-wrap: anywhere; }
.sr { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.launcher { position: relative; display: grid; place-items: center; inline-size: 56px; block-size: 56px; padding: 0;
  margin-inline-start: auto; border-radius: 50%; box-shadow: 0 4px 14px #0005; }
.root:not(.opened) .launcher::before { content: ""; inline-size: 26px; block-size: 20px; border: 3px solid; border-radius: 10px 10px 10px 2px; }
.badge { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-inline-size: 22px; padding: 0 5px;
  border-radius: 11px; background: #b3261e; color: #fff; font-size: 13px; text-align: center; }
.panel { display: flex; flex-direction: column; inline-size: min(400px, calc(100vw - 40px)); margin-block-end: 12px;
  block-size: min(640px, calc(100dvh - 110px)); background: var(--back); border: 1px solid var(--line);
  border-radius: var(--round); box-shadow: 0 10px 40px #0005; overflow: hidden; }
header { display: flex; align-items: center; gap: 4px; padding: 8px 8px 8px 16px; background: var(--own); color: var(--on); }
header h2 { flex: 1; margin: 0; font-size: 17px; overflow-wrap: anywhere; } header :focus-visible { outline-color: var(--on); }
.body { flex: 1; overflow-y: auto; padding: 14px; display: flex; flex-direction: column; gap: 10px; overscroll-behavior: contain; }
ol.log { list-style: none; padding: 0; display: flex; flex-direction: column; gap: 10px; }
ol.log > li { max-inline-size: 88%; align-self: flex-start; overflow-wrap: anywhere; }
ol.log > li.mine { align-self: flex-end; }
.consent { display: grid; gap: 8px; }
.bubble { padding: 9px 13px; border-radius: var(--round); background: var(--bubble); display: grid; gap: 8px; }
.mine .bubble { background: var(--own); color: var(--on); white-space: pre-wrap; }
.bubble ul, .bubble ol { padding-inline-start: 22px; } pre { overflow-x: auto; padding: 8px; border: 1px solid var(--line); }
.meta, .notice { color: var(--faint); font-size: 14px; } ol.log > li.notice { align-self: center; text-align: center; }
.row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.told { padding: 10px 14px; border-block-start: 1px solid var(--line); display: grid; gap: 8px; max-block-size: 50%; overflow-y: auto; }
form { display: flex; gap: 8px; align-items: end; padding: 10px; border-block-start: 1px solid var(--line); }
textarea { flex: 1; min-inline-size: 0; resize: none; field-sizing: content; max-block-size: 30vh; padding: 9px 12px; border: 1px solid var(--faint);
  border-radius: 10px; background: transparent; }
.dots::after { content: "\\2026"; }
@media (max-width: 480px), (max-height: 480px) {
  .panel { position: fixed; inset: auto 0 auto 0; inset-block-start: var(--top, 0px); block-size: var(--seen, 100dvh); inline-size: 100%;
    margin: 0; border: 0; border-radius: 0; } .root.opened .launcher { display: none; } }
@media (prefers-reduced-motion: no-preference) {
  .panel { animation: rise 0.16s ease-out; } @keyframes rise { from { transform: translateY(8px); opacity: 0; } }
  .dots::after { animation: blink 1.2s infinite; } @keyframes blink { 50% { opacity: 0.2; } } }
@media (forced-colors: active) { header, .bubble, .badge { border: 1px solid; } }
`;
