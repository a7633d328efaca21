// All pages, in the groups and the order of the menu. A page is one module with this default export:
//
//   name      its address: `#/name`, and its words in `words.pages`
//   needs     "local" (a local stack), "chat" or a role of operators (a token with this scope or `admin`)
//   show      async (main, args, context) => function that ends the page, or nothing
//
// `args` are the parts of the address after the name. `context` has `api`, `config`, `session`,
// `announce` (says a text to screen readers), `count` (counts again what waits for the team), `tour` (of the recorded day) and `pages` (the names of all pages).
import agent from "./pages/agent.js";
import audit from "./pages/audit.js";
import chats from "./pages/chats.js";
import desk from "./pages/desk.js";
import errands from "./pages/errands.js";
import home from "./pages/home.js";
import knowledge from "./pages/knowledge.js";
import people from "./pages/people.js";
import phone from "./pages/phone.js";
import settings from "./pages/settings.js";
import sharing from "./pages/sharing.js";
import time from "./pages/time.js";
import tools from "./pages/tools.js";
import tour from "./pages/tour.js";
import transcripts from "./pages/transcripts.js";
import usage from "./pages/usage.js";
import why from "./pages/why.js";
import widgets from "./pages/widgets.js";

// Pairs of a group's name in `words.menu`, or null for pages without a group, and the pages.
export const menu = [
  [null, [tour, home]],
  ["talk", [phone, chats, desk]],
  [null, [agent, knowledge, tools, widgets, people, sharing]],
  ["understand", [why, transcripts, errands, usage, audit]],
  [null, [settings, time]],
];

export const pages = menu.flatMap(([, listed]) => listed);
