"""Imports from other programs: an export is recognised by its bytes and read as a stream.

    files = recognise_export(path, ReadingOptions(zone=MachineZone()))   what is there, or a UsageError
    speakers(files[0])                                     who speaks, where the person has to be asked who they are
    for found in files[0].read(): ...                      a PastConversation or an Unread at a time

Promises: nothing is written, extracted or sent; a file is never taken for plain text; memory stays flat, one
conversation at a time; what was hidden, thought, said to tools or replaced is left out and counted, so that the
messages seen are those taken and those left out; one bad conversation costs only itself; nothing is sorted by time;
keys are the same in every later export. A conversation of which nothing was taken comes out too, with its counts.

Where a format has no ids, keys are made from who said what when. Gemini keeps no conversations, only an activity log:
there, prompts that follow one another within half an hour are one.
"""

from importers.reading import ReadingOptions, RecognisedFile
from importers.recognition import recognise_export
from language.instants import MachineZone

__all__ = ["MachineZone", "ReadingOptions", "RecognisedFile", "recognise_export"]
