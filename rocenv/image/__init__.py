"""Reading what is inside an image from its layers: streams of tar entries, code objects in files, facts from both.

Bytes come from outside (`rocenv.engine` opens them); nothing is run, unpacked or written, and no file is held whole.
"""
