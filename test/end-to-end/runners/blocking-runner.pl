#!/usr/bin/perl
# A runner that costs nothing while it is busy: it plays the episodes below the index that it is told, and never ends one from there on.
# While it is in one, its name in the process table is "blocked" and the second argument.
use strict;
use warnings;

$| = 1;
my ($first_blocked, $tag) = @ARGV;

print qq({"type":"ready","protocol":1,"runner":"blocking-perl/1.0"}\n);
while (my $line = <STDIN>) {
    if ($line =~ /"type":"load","load":(\d+).*?"digest":"([^"]*)"/) {
        print qq({"type":"loaded","load":$1,"digest":"$2"}\n);
    }
    elsif ($line =~ /"type":"ping","ping":(\d+)/) {
        print qq({"type":"pong","ping":$1}\n);
    }
    elsif ($line =~ /"type":"play","range":(\d+),"episodes":\[(.*)\]/) {
        my ($range, $episodes) = ($1, $2);
        print qq({"type":"begin","range":$range}\n);
        while ($episodes =~ /\[(\d+),\d+,\d+,\d+\]/g) {
            block() if $1 >= $first_blocked;
            print qq({"type":"completed","range":$range,"index":$1,"return":0.5,"length":1,"metrics":{},"seconds":0}\n);
        }
    }
    else { exit 70 }
}

sub block {
    $0 = "blocked $tag";
    sleep;
}
