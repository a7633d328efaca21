// Looking again and again at what may change on the desk.
const LOOK_MS = 5_000;

/** Look again and again while the person can see the page, since each look is audited; return what ends it. */
export function following(look) {
  const timer = setInterval(() => {
    if (!document.hidden) look().catch(() => {}); // the next look tries again
  }, LOOK_MS);
  return () => clearInterval(timer);
}
