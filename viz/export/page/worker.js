// The lesson without the network, once it was opened. Its version is in the next line: a newer one replaces this file and all that it keeps.
const VERSION = "%%VERSION%%", FILES = %%FILES%%;
const OURS = `atlas-lesson ${self.registration.scope} `, NOW = OURS + VERSION;

self.addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(NOW);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
  await self.skipWaiting();
})()));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith(OURS) && name !== NOW) await caches.delete(name);
  await self.clients.claim();
})()));

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(self.registration.scope)) return;
  event.respondWith((async () => {
    const cache = await caches.open(NOW), turns = event.request.mode === "navigate";
    if (event.request.url.startsWith(`${self.registration.scope}live/`)) return model(cache, event.request, turns);
    return (await cache.match(turns ? "index.html" : event.request, { ignoreSearch: true })) ?? fetch(event.request);
  })());
});

/** Models and their page, which are kept once they were asked for: they are large. The page names the version of its models; it is asked for each time. */
async function model(cache, request, turns) {
  const before = await cache.match(request);
  if (before && !turns) return before;
  try {
    const found = await fetch(request);
    if (found.ok) await cache.put(request, found.clone());
    return found;
  } catch (error) {
    if (before) return before;
    throw error;
  }
}
