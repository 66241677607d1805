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
    const cache = await caches.open(NOW), asked = event.request.mode === "navigate" ? "index.html" : event.request;
    return (await cache.match(asked, { ignoreSearch: true })) ?? fetch(event.request);
  })());
});
