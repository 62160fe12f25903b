// The address and the markup of a drawn page, with at most `limit` characters. It marks invisible
// elements for hidden.py by the styles that the browser computes. Open shadow trees become plain
// elements, because readers of markup skip templates.
limit => {
  const number = text => (text.match(/[\d.]+/g) || []).map(Number);
  // The colour behind an element; null if it is a picture or translucent.
  const background = element => {
    for (let ancestor = element; ancestor instanceof Element; ancestor = ancestor.parentElement) {
      const style = getComputedStyle(ancestor);
      if (style.backgroundImage !== 'none') { return null; }
      const parts = number(style.backgroundColor);
      if (parts.length < 4 || parts[3] > 0.9) { return parts; }
      if (parts[3] > 0) { return null; }
    }
    return [255, 255, 255];
  };
  const unseen = element => {
    if (['HTML', 'BODY', 'MAIN', 'HEAD'].includes(element.tagName)) { return false; }
    const style = getComputedStyle(element);
    if (style.display === 'contents' || element.closest('head')) { return false; }
    if (style.display === 'none') { return true; }
    if (style.visibility !== 'visible' || Number(style.opacity) <= 0.05) { return true; }
    if (parseFloat(style.fontSize) <= 1 || parseFloat(style.textIndent) <= -400) { return true; }
    if (style.textDecorationLine.includes('line-through')) { return true; }
    if (/^rect\([01]px, [01]px,/.test(style.clip)) { return true; }
    if (/^inset\(([5-9]\d|100)/.test(style.clipPath)) { return true; }
    if (/^(circle|ellipse)\(0/.test(style.clipPath)) { return true; }
    const box = element.getBoundingClientRect();
    const cut = style.overflowX !== 'visible' || style.overflowY !== 'visible';
    if (cut && style.display !== 'inline' && (box.width <= 1 || box.height <= 1)) { return true; }
    const sized = box.width > 0 || box.height > 0;
    return sized && (box.right + scrollX <= 0 || box.bottom + scrollY <= 0);
  };
  const camouflaged = element => {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) {
      return false;
    }
    const style = getComputedStyle(element);
    const ink = number(style.webkitTextFillColor || style.color);
    if (ink.length > 3 && ink[3] < 0.1) { return true; }
    const behind = background(element);
    return behind !== null && ink.slice(0, 3).every((part, at) => Math.abs(part - behind[at]) < 31);
  };
  const mark = root => {
    for (const element of root.querySelectorAll('*')) {
      if (unseen(element)) { element.setAttribute('data-unseen', ''); }
      else if (camouflaged(element)) { element.setAttribute('data-unseen', 'text'); }
      if (element.shadowRoot) { mark(element.shadowRoot); }
    }
  };
  mark(document);
  const roots = [];
  const collect = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) { roots.push(element.shadowRoot); collect(element.shadowRoot); }
    }
  };
  collect(document);
  let html = document.documentElement ? document.documentElement.outerHTML : '';
  if (roots.length && document.documentElement.getHTML) {
    const inside = document.documentElement.getHTML({shadowRoots: roots});
    html = '<html>' + inside
      .replaceAll('<template shadowrootmode=', '<div data-shadow=')
      .replaceAll('</template>', '</div>') + '</html>';
  }
  return {url: location.href, html: html.slice(0, limit)};
}
