#!/usr/bin/perl
# The smallest runner: docs/runner-protocol.md in another language, with nothing but Perl itself.
#
# Its environment lasts one step and returns (environment seed mod 100) / 100. It plays no policy, so it takes the
# digest on trust where a real runner hashes what it has loaded. Frames are taken apart by patterns: enough for what
# Muster sends, since its strings come JSON-escaped and the fields that are looked for stand before free-form ones.
use strict;
use warnings;

# A frame must leave at once: Muster keeps the time by it.
$| = 1;

my $tasks = 0;

sub send_frame {
    print "{$_[0]}\n" or exit 74;
}

sub protocol_error {
    print STDERR "protocol error: $_[0]\n";
    exit 70;
}

sub number {
    my ($line, $name) = @_;
    return $line =~ /"$name"\s*:\s*(\d+)/ ? $1 : protocol_error("no $name");
}

sub load {
    my ($line) = @_;
    my $load = number($line, 'load');
    my ($digest) = $line =~ /"digest"\s*:\s*"([^"\\]*)"/ or protocol_error('no digest');
    $tasks = () = $line =~ /"environment"\s*:\s*\{/g;
    send_frame(qq("type":"loaded","load":$load,"digest":"$digest"));
}

sub play {
    my ($line) = @_;
    protocol_error('a play without a load before it') unless $tasks;
    my $range = number($line, 'range');
    my ($episodes) = $line =~ /"episodes"\s*:\s*\[(.*)\]/ or protocol_error('no episodes');
    send_frame(qq("type":"begin","range":$range));
    while ($episodes =~ /\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]/g) {
        my ($index, $task, $environment_seed) = ($1, $2, $3);
        my $return = ($environment_seed % 100) / 100;
        my $episode = qq("range":$range,"index":$index,"return":$return,"length":1);
        send_frame(qq("type":"completed",$episode,"metrics":{"task":$task},"seconds":0));
    }
}

send_frame('"type":"ready","protocol":1,"runner":"tiny-perl/1.0"');
while (my $line = <STDIN>) {
    my ($type) = $line =~ /"type"\s*:\s*"(\w+)"/ or protocol_error('no type');
    if    ($type eq 'load') { load($line) }
    elsif ($type eq 'play') { play($line) }
    elsif ($type eq 'ping') { send_frame('"type":"pong","ping":' . number($line, 'ping')) }
    else                    { protocol_error("unknown type $type") }
}
