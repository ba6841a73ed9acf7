"""What a line of text can be."""

#: part of a paragraph that ends at a blank line, a sentence, or a document
LINES = ("paragraph", "sentence", "document")
