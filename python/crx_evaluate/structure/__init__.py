"""Questions from the structure of documents, without a model.

The text of a link asks for the page it leads to, a term or an option for its definition, a heading
for its section, a caption for its table, the subject of a mail for its thread, and the message of
a commit for the files it changed. What a question was made from is removed from the documents.
Terms and options stay, since they are what a user looks up: they are marked as questions in exact
words, and so is any other question whose words the document that answers still has in a row.
"""

from crx_evaluate.structure.make import StructureSet, choose_questions, make_questions

__all__ = ["StructureSet", "choose_questions", "make_questions"]
