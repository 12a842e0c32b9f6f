import sys

for _ in sys.stdin:
    print("error")
