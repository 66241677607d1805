"""The course: a folder a chapter, in it a folder an exhibit, found by viz.shell.pages; the folder's name is the address."""
