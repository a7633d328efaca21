// Sign-in: OpenID Connect's code flow with PKCE. The token is kept in memory only; on a local stack, whose
// tokens open nothing else, the session storage of the tab has it, too. During the redirect, it has the
// state, the verifier and the place to return to.
import { words } from "./words.js";

const KEY = "skein-sign-in";
const KEPT = "skein-local-session";
const EARLY_MS = 5_000; // a token that ends within this time is over
const WARN_MS = 120_000; // before the end, the person is told
const MAX_TIMER_MS = 2 ** 31 - 1;
const SCOPE_CLAIMS = ["scope", "scp", "permissions", "roles"];

export class Session {
  #token = null;
  #timers = [];
  #config;
  #onchange;
  #onending;

  /**
   * @param {object} config The answer of `/console/config`.
   * @param {() => void} onchange Called when the token ends.
   * @param {() => void} onending Called two minutes before the token expires.
   */
  constructor(config, onchange, onending) {
    this.#config = config;
    this.#onchange = onchange;
    this.#onending = onending;
    this.claims = {};
    this.ended = false;
  }

  get token() { return this.#token; }

  /** Whether the token has a scope: `chat`, or a role of operators, all of which `admin` means. */
  may(scope) {
    if (this.#token === null) return false;
    const prefix = this.#config.scope_prefix;
    const wanted = (scope === "chat" ? [scope] : [scope, "admin"]).map((name) => prefix + name);
    return SCOPE_CLAIMS.some((claim) => {
      const value = this.claims[claim] ?? [];
      const given = Array.isArray(value) ? value : String(value).split(" ");
      return wanted.some((name) => given.includes(name));
    });
  }

  /** Send the browser to the issuer; it returns to the place. The hint says who wants to sign in. */
  async signIn(place = location.hash, hint = null) {
    const { authorization_endpoint: endpoint } = await this.#discover();
    const state = random(), verifier = random(), nonce = random();
    sessionStorage.setItem(KEY, JSON.stringify({ state, verifier, place }));
    const query = new URLSearchParams({
      response_type: "code",
      client_id: this.#config.client_id,
      redirect_uri: redirectUri(),
      scope: this.#config.scopes.join(" "),
      audience: this.#config.audience,
      state,
      nonce,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: "S256",
      ...(hint === null ? {} : { login_hint: hint }),
    });
    location.assign(`${endpoint}${endpoint.includes("?") ? "&" : "?"}${query}`);
  }

  /** Finish a sign-in, if the issuer has just sent the browser back. */
  async finish() {
    const query = new URLSearchParams(location.search);
    if (!query.has("state")) {
      this.#restore();
      return;
    }
    const begun = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    sessionStorage.removeItem(KEY);
    history.replaceState(null, "", `${location.pathname}${begun?.place ?? location.hash}`);
    if (begun === null || query.get("state") !== begun.state) throw new Error(words.session.stale);
    if (query.has("error")) {
      throw new Error(words.session.refused(query.get("error_description") ?? query.get("error")));
    }
    const { token_endpoint: endpoint } = await this.#discover();
    const answer = await fetch(endpoint, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code: query.get("code") ?? "",
        redirect_uri: redirectUri(),
        client_id: this.#config.client_id,
        code_verifier: begun.verifier,
      }),
    });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok || typeof body.access_token !== "string") {
      throw new Error(words.session.refused(body.error_description ?? body.error ?? answer.status));
    }
    this.#begin(body.access_token, body.expires_in);
  }

  /** Forget the token; `expired` asks the person to sign in again. */
  end({ expired = false } = {}) {
    if (this.#token === null) return;
    for (const timer of this.#timers) clearTimeout(timer);
    sessionStorage.removeItem(KEPT);
    this.#token = null;
    this.claims = {};
    this.ended = expired;
    this.#onchange();
  }

  #begin(token, seconds) {
    this.#token = token;
    this.ended = false;
    this.claims = claimsOf(token);
    const left = seconds ? 1000 * seconds : 1000 * (this.claims.exp ?? Infinity) - Date.now();
    if (this.#config.local) sessionStorage.setItem(KEPT, JSON.stringify({ token, until: Date.now() + left }));
    const wait = Math.min(Math.max(0, left - EARLY_MS), MAX_TIMER_MS);
    this.#timers = [setTimeout(() => this.end({ expired: true }), wait)];
    if (wait > WARN_MS) this.#timers.push(setTimeout(() => this.#onending(), wait - WARN_MS));
  }

  /** On a local stack, go on with the token that the tab had before it was loaded again. */
  #restore() {
    const { token, until } = this.#config.local ? JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") : {};
    if (token && until > Date.now() + EARLY_MS) this.#begin(token, (until - Date.now()) / 1000);
  }

  async #discover() {
    const issuer = this.#config.issuer.replace(/\/$/, "");
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
    if (!answer.ok) throw new Error(words.session.unreachable);
    return answer.json();
  }
}

/** The claims of a token, to show them. The API is what checks the token. */
export function claimsOf(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {}; // an opaque token
  }
}

function redirectUri() { return `${location.origin}/console/`; }

function random() { return encoded(crypto.getRandomValues(new Uint8Array(32))); }

async function challengeOf(verifier) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return encoded(new Uint8Array(digest));
}

function encoded(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
