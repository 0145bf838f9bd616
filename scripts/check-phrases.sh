#!/usr/bin/env bash
# Refuses contorted phrases that plain English never needs: prints FILE:LINE and the phrase of each hit, and fails when there is one.
# In code it looks only at comments. PHRASES_IN=md looks only into documents.
set -euo pipefail
cd "$(dirname "$0")/.."

read -ra kinds <<< "${PHRASES_IN:-md rs ts tsx c cpp h}"
git ls-files -z --cached --others --exclude-standard -- "${kinds[@]/#/*.}" ':!*vmlinux*' | perl -e '
  # Perl regular expressions without regard to case. A blank also matches the end of a line and the marks of a comment.
  my @phrases = (
    "(?:to|can|could|may) be had",                      # say: available, free
    "(?:is|are|was|were) had",                          # say: computed, obtained
    "had again",                                        # say: copied, repeated
    "(?:is|are) none of(?! (?:its|our|their) business)", # say: is not a, other than
    "(?:what|which|that)(?: [\\w`-]+){0,5} is none",    # say: missing, None
    "of which (?:no|none|nothing|nobody)\\b",           # begin a new sentence
    "that there is no\\b",                              # say: without, no X exists
    "something to be asked for",                        # say: opt-in
    "asked for by",                                     # say: requested by, unused
    "(?:is|are|was|were) told by",                      # say: says, shows, identifies
    "(?:is|are) to be (?:seen|known|said)",             # say: appears, visible
    "what there is not",                                # say: limits, missing
  );
  my $blank = qr{\s+(?:(?://[/!]?|\*|>)\s*)?};
  my @searched = map { my ($shown, $regex) = ($_, $_); $regex =~ s/ /$blank/g; qr/\b$regex/i } @phrases;
  my $hits = 0;
  local $/;
  for my $file (split /\0/, <STDIN>) {
    open(my $opened, "<", $file) or next;    # deleted, but not yet in the index
    my $text = <$opened> // "";
    for my $phrase (@searched) {
      while ($text =~ /$phrase/g) {
        my ($begin, $found) = ($-[0], $&);
        my $line = 1 + (substr($text, 0, $begin) =~ tr/\n//);
        my $before = substr($text, 0, $begin) =~ s/.*\n//sr;
        next unless $file =~ /\.md$/ or $before =~ m{(?<!:)//|/\*|^\s*\*};
        $found =~ s/$blank/ /g;
        print "$file:$line: \"$found\"\n";
        $hits++;
      }
    }
  }
  print STDERR "error: $hits contorted phrases\nhint: subject, verb, object; scripts/check-phrases.sh proposes words\n" if $hits;
  exit($hits ? 1 : 0);
'
