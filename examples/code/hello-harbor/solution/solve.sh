#!/bin/sh
printf 'Hello, Harbor!\n' > /app/greeting.txt
