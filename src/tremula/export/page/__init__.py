"""A model as a page for the browser, in one file.

`packing.py` packs the model, `templates/engine.js` reads and runs it, `templates/page.js` is the page around it.
Open `model.py` first.
"""
