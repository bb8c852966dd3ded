// Replaces the report with the next one as soon as there is one. Without it the page loads itself again.
(function () {
  "use strict";
  var bar = document.getElementById("live"), state = bar.querySelector(".state"), form = bar.querySelector("form");
  var charts = document.currentScript.previousElementSibling.previousElementSibling.textContent;
  var version = +bar.dataset.version, next = null, failures = 0;
  function all(selector) { return Array.from(document.querySelectorAll(selector)); }
  // A reader who selects text or looks at a part of a plot keeps what there is.
  function isRead() { return document.querySelector(".reset:not([hidden]), .range") || !document.getSelection().isCollapsed; }
  function keyOf(details, index) {
    var section = details.closest("section"), summary = details.querySelector("summary");
    return (section ? section.id : "") + " " + (summary ? summary.textContent : index);
  }
  function focusable() { return all("main a, main summary, main svg.plot, main .scroll"); }
  function replace() {
    var open = {}, focused = focusable().indexOf(document.activeElement), x = window.scrollX, y = window.scrollY;
    var across = all(".scroll").map(function (element) { return element.scrollLeft; });
    all("details").forEach(function (details, i) { open[keyOf(details, i)] = details.open; });
    ["header.top", "main"].forEach(function (part) {
      document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
    });
    document.title = next.title;
    all("details").forEach(function (details, i) {
      var before = open[keyOf(details, i)];
      if (before !== undefined) details.open = before;
    });
    var script = document.createElement("script");
    script.textContent = charts;
    document.body.appendChild(script).remove();
    all(".scroll").forEach(function (element, i) { element.scrollLeft = across[i] || 0; });
    if (focused >= 0 && focusable()[focused]) focusable()[focused].focus({ preventScroll: true });
    if (window.scrollX !== x || window.scrollY !== y) window.scrollTo({ left: x, top: y, behavior: "instant" });
    var shown = next.getElementById("live");
    bar.className = shown.className;
    state.textContent = shown.querySelector(".state").textContent;
    next = null;
    if (bar.matches(".over")) form.hidden = true;
  }
  function show() {
    if (!next) return;
    if (!isRead()) { replace(); return; }
    state.textContent = "A newer report waits while text is selected or a part of a plot is shown.";
    setTimeout(show, 500);
  }
  function lost() {
    failures += 1;
    if (failures < 3) { setTimeout(ask, 1000 * failures); return; }
    bar.className = "lost";
    form.hidden = true;
    state.textContent = "Plimsoll does not answer any more: the run is over, and this is the last report that arrived.";
  }
  function ask() {
    fetch("update?after=" + version, { cache: "no-store" }).then(function (response) {
      if (response.status === 204) { failures = 0; ask(); return null; }
      if (!response.ok) throw new Error(response.status);
      return response.text();
    }).then(function (text) {
      if (text === null) return;
      var isWaiting = next !== null;
      next = new DOMParser().parseFromString(text, "text/html");
      var received = next.getElementById("live");
      version = +received.dataset.version;
      failures = 0;
      if (!isWaiting) show();
      if (!received.matches(".over")) ask();
    }).catch(lost);
  }
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    var text = form.elements.text;
    fetch("marks", { method: "POST", body: text.value }).then(function (response) {
      return response.text().then(function (said) { state.textContent = said; if (response.ok) text.value = ""; });
    }).catch(function () { state.textContent = "The mark could not be sent."; });
  });
  if (bar.matches(".over")) return;
  form.hidden = false;
  ask();
})();
