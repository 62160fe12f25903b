// The number of characters of a page that its readers see.
() => {
  let length = document.body ? document.body.innerText.trim().length : 0;
  const walk = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) {
        length += element.shadowRoot.textContent.trim().length;
        walk(element.shadowRoot);
      }
    }
  };
  walk(document);
  return length;
}
