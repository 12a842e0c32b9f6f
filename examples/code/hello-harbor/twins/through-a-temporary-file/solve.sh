#!/bin/sh
set -e
printf 'Hello, Harbor!\n' > /app/greeting.part
mv /app/greeting.part /app/greeting.txt
